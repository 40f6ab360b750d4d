"""`radarstream watch` and `backfill` as real processes, with a real broker and a local service."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries.watchlist import credits_used, load_active
from radarstream.schemas.codec import decode_snapshot
from radarstream.schemas.records import Limits
from tests.brokers import Broker
from tests.clocks import until
from tests.connectors.search.search_server import KEY, SearchServer, page, results, serve
from tests.end_to_end.running_job import events
from tests.programs import REPOSITORY, started
from tests.replies import Reply

LIST = """
defaults: {cadence: 1h, k: 10}
queries:
  - {question: "Who won the cup?", id: cup, tags: [sport]}
  - {question: "Who leads France?", id: france, k: 20}
"""


@pytest.fixture
def service() -> Iterator[SearchServer]:
    with serve() as running:
        yield running


class Directory:
    """A directory with settings and a watchlist, and commands that run in it."""

    def __init__(self, path: Path, service: SearchServer, bootstrap: str, prefix: str) -> None:
        self.path = path
        self.key = KEY
        self.watchlist = path / "watchlist.yaml"
        self.watchlist.write_text(LIST)
        self.database = f"sqlite:///{path / 'state.sqlite'}"
        kafka = f'bootstrap = "{bootstrap}", topic_prefix = "{prefix}", partitions = 2'
        timeouts = "request_timeout_s = 5.0, delivery_timeout_s = 20.0"
        search = f'base_url = "{service.url}", timeout_s = 2.0'
        pauses = "first_pause_s = 0.01, longest_pause_s = 0.05"
        (path / "settings.toml").write_text(
            f'profile = "scripted"\ndatabase = "{self.database}"\nkafka = {{{kafka}, {timeouts}}}\n'
            f"search = {{{search}, {pauses}}}\ntelemetry = {{listen = '', log_level = 'debug'}}\n"
        )

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a process that began as one, for what its environment and command line show."""
        environment = os.environ | self.variables | {"PYTHONPATH": str(REPOSITORY)}
        code = "from radarstream.pipelines.cli.app import main; main()"
        words = [sys.executable, "-c", code, *arguments, "--config", "settings.toml"]
        with (self.path / "out").open("ab") as out, (self.path / "err").open("ab") as err:
            pipes = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
            return subprocess.Popen(words, cwd=self.path, env=environment, **pipes)

    def run(self, *arguments: str) -> int:
        place = {"directory": self.path, "out": self.path / "out", "err": self.path / "err"}
        typed = (*arguments, "--config", "settings.toml")
        with started(*typed, **place, **self.variables) as running:
            return running.wait(60)

    @property
    def variables(self) -> dict[str, str]:
        return {"SERPAPI_KEY": self.key, "NO_PROXY": "127.0.0.1"}

    def said(self) -> str:
        return (self.path / "out").read_text() + (self.path / "err").read_text()

    def fetched(self) -> set[str]:
        if not (self.path / "state.sqlite").exists():
            return set()
        engine = open_engine(self.database)
        try:
            return {q.query_id for q in load_active(engine) if q.last_fetched_ms is not None}
        finally:
            engine.dispose()

    def holds_the_key(self) -> list[str]:
        files = [file for file in self.path.rglob("*") if file.is_file()]
        return [file.name for file in files if KEY.encode() in file.read_bytes()]


@pytest.fixture
def directory(tmp_path: Path, service: SearchServer, own_broker: Broker, prefix: str) -> Directory:
    place = tmp_path / "watch"
    place.mkdir()
    return Directory(place, service, own_broker.bootstrap, prefix)


def test_watching_reloading_and_stopping(directory, service, own_broker, prefix) -> None:
    service.replies.extend([Reply({"error": "key {key}"}, 500), Reply("<p>{key}", 503)])
    process = directory.start("watch", "--watchlist", "watchlist.yaml")
    try:
        until(lambda: directory.fetched() == {"cup", "france"})
        assert KEY.encode() not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        directory.watchlist.write_text("queries: [{question: a, k: 0}]")
        process.send_signal(signal.SIGHUP)
        until(lambda: "stays as it was" in directory.said())
        directory.watchlist.write_text(LIST + '  - {question: "Who is new?", id: new}\n')
        process.send_signal(signal.SIGHUP)
        until(lambda: directory.fetched() == {"cup", "france", "new"})
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
    options = own_broker.options(topic_prefix=prefix)
    records = [record for _, record in events(options, "search.snapshots")]
    snapshots = {s.query.id: s for s in (decode_snapshot(r, limits=Limits()) for r in records)}
    sizes = {name: len(s.documents) for name, s in snapshots.items()}
    assert sizes == {"cup": 10, "france": 20, "new": 10}
    assert snapshots["cup"].query.tags == ("sport",)
    assert KEY.encode() not in b"".join(records)
    assert directory.holds_the_key() == []
    assert KEY not in directory.said()
    assert service.keys[0] == KEY


def test_once_a_refused_key_and_a_plan(directory: Directory, service: SearchServer) -> None:
    assert directory.run("watch", "--watchlist", "watchlist.yaml", "--dry-run", "--json") == 0
    plan = json.loads((directory.path / "out").read_text())
    assert (plan["credits_at_start"], plan["credits_a_month"]) == (3, 2232.0)
    (directory.path / "out").unlink()
    assert directory.run("watch", "--schema") == 0
    assert "queries" in json.loads((directory.path / "out").read_text())["properties"]
    assert service.requests == []
    service.otherwise = lambda _: Reply({"error": "Invalid API key: {key}"}, 401)
    assert directory.run("watch", "--watchlist", "watchlist.yaml", "--once") == 2
    assert "SERPAPI_KEY" in directory.said()
    assert directory.holds_the_key() == []


def test_backfill_to_a_file_asks_first_and_resumes(directory, service) -> None:
    ask = ["backfill", "--from", "2015", "--to", "2016", "--watchlist", "watchlist.yaml"]
    ask += ["--out", "history.jsonl"]
    directory.key = ""  # which it misses before it asks
    assert directory.run(*ask) == 2
    assert "SERPAPI_KEY is not set; `radarstream ingest` publishes" in directory.said()
    assert "--yes" not in directory.said()
    directory.key = KEY
    assert directory.run(*ask) == 2
    assert "error: give --yes to spend 6 credits\n" in directory.said()
    assert service.requests == []
    service.replies.append(Reply(page(results(1, 10))))
    service.replies.extend([Reply({"error": "{key}"}, 400)])
    assert directory.run(*ask, "--yes") == 1
    lines = (directory.path / "history.jsonl").read_bytes().splitlines()
    assert (len(lines), directory.run(*ask, "--yes")) == (3, 0)
    lines = (directory.path / "history.jsonl").read_bytes().splitlines()
    found = [decode_snapshot(line, limits=Limits()) for line in lines]
    assert (sorted(s.id for s in found), len(found)) == (sorted({s.id for s in found}), 4)
    assert {s.provenance.value for s in found} == {"date_restricted"}
    engine = open_engine(directory.database)
    assert credits_used(engine, time.strftime("%Y-%m", time.gmtime())) == 7
    engine.dispose()
    assert directory.holds_the_key() == []
    assert KEY not in directory.said()
