"""The table "What the broker must allow": each command works with these rights, not with less."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest
from typer.testing import CliRunner

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topics import TOPICS, ensure_topics
from radarstream.pipelines.cli.app import app
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.events import DeadLetter
from tests.commands import refused, run
from tests.connectors.search.search_server import KEY, SearchServer, serve
from tests.end_to_end.running_job import produce, snapshots
from tests.end_to_end.test_incident_commands import LIES, answer_of
from tests.engines.secured import Right, SecuredNode, secured
from tests.programs import done
from tests.webhook_receiver import receiving
from tests.wire_samples import ANSWER, COMPLAINT, REJECTED

pytestmark = pytest.mark.long

__all__ = ["secured"]
DOCUMENT = Path(__file__).parents[2] / "docs" / "deployment.md"
PREFIX = "rights."
GROUP = f"{PREFIX}radarstream"
OPERATIONS = re.compile(r"\s*((?:[A-Z]\w+, )*[A-Z]\w+) (.*)")
LISTED = "cadence: 1h, k: 2"
numbers = count()


def table() -> dict[str, list[Right]]:
    """The rights of each command, as the document lists them."""
    text = DOCUMENT.read_text("utf-8").partition("## What the broker must allow")[2]
    text = text.partition("\n## ")[0]
    rows = [line.split("|")[1:-1] for line in text.splitlines() if line.startswith("| `")]
    assert rows
    return {
        command: [*on_topics(topics), *on_groups(group)]
        for commands, topics, group in rows
        for command in re.findall(r"`([^`]+)`", commands)
    }


def on_topics(cell: str) -> Iterator[Right]:
    for clause in filter(str.strip, cell.split(";")):
        found = OPERATIONS.match(clause)
        assert found, clause
        names = TOPICS if "all five" in found[2] else re.findall(r"`P`([\w.]+)", found[2])
        assert names, clause
        for operation in found[1].split(", "):
            yield from (Right(operation, "topic", PREFIX + name) for name in names)


def on_groups(cell: str) -> Iterator[Right]:
    if found := re.search(r"(\w+) (?:`[a-z.]+` = )?G(?:`(-\w+)`)?", cell):
        yield Right(found[1], "group", GROUP + (found[2] or ""))


TABLE = table()


@dataclass(frozen=True)
class Site:
    """A secured node with all topics, settings of a user there, and what is around it."""

    node: SecuredNode
    options: KafkaOptions  # of the node itself
    config: Path
    service: SearchServer

    def send(self, *events: object) -> None:
        with KafkaSink(self.options) as sink:
            sink.publish([outbox_record(event) for event in events])

    def broken(self) -> DeadLetter:
        source, number = "e/rights.search.snapshots/0", next(numbers)
        return DeadLetter(ReasonClass.LATE, "late", "outage", source, number, 1, "e30=")


@pytest.fixture(scope="module")
def site(secured: SecuredNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("site")
    options = secured.inside_options(topic_prefix=PREFIX, partitions=1)
    ensure_topics(options)
    (directory / "history.jsonl").write_bytes(outbox_record(snapshots(1)[0]).data + b"\n")
    (directory / "watchlist.yaml").write_text(
        f"defaults: {{{LISTED}}}\nqueries:\n  - {{question: Who won the cup?, id: cup}}\n"
    )
    config = directory / "settings.toml"
    with serve() as service, receiving() as receiver, pytest.MonkeyPatch.context() as patched:
        config.write_text(SETTINGS.format(node=secured, directory=directory, service=service,
                                          receiver=receiver, prefix=PREFIX))  # fmt: skip
        patched.setenv("SERPAPI_KEY", KEY)
        patched.setenv("NO_PROXY", "127.0.0.1")
        patched.setenv("WEBHOOK_SECRET", "whsec_" + "A" * 32)
        yield Site(secured, options, config, service)


SETTINGS = """
profile = "scripted"
database = "sqlite:///{directory}/state.db"
[kafka]
bootstrap = "{node.bootstrap}"
topic_prefix = "{prefix}"
partitions = 1
security = "SASL_SSL"
ca_file = "{node.authority}"
username = "radarstream"
request_timeout_s = 5.0
delivery_timeout_s = 20.0
[telemetry]
listen = ""
[defense]
withstand = 0
[attribution]
enabled = true
poll_s = 0.2
min_gap = 0.0
max_chance = 1.0
[alerts]
start = "beginning"
[alerts.webhook]
url = "{receiver.url}"
[search]
base_url = "{service.url}"
"""


def new_work(site: Site) -> None:
    """Something to answer, something to reject and something broken."""
    number = next(numbers)
    given = [replace(s, query=replace(s.query, id=f"q{number}")) for s in snapshots(2)]
    produce(site.options, given)
    with KafkaSink(site.options) as sink:
        broken = outbox_record(given[0])
        sink.publish([replace(broken, data=b"broken %d" % number)])


def new_complaint(site: Site) -> None:
    """A complaint about an answer that is kept."""
    query = f"wrong{next(numbers)}"
    answer_of(site.config, LIES, "Rome", query=query)
    site.send(replace(COMPLAINT, query_id=query, question=None, answer="Rome", step=0))


WORK: dict[str, Callable[[Site], None]] = {
    "run": new_work, "submit": new_work,
    "alert": lambda site: site.send(replace(ANSWER, step=next(numbers))),
    "attribute": new_complaint, "tail --all": lambda site: site.send(ANSWER, REJECTED),
    "deadletter list": lambda site: site.send(site.broken()),
    "deadletter replay": lambda site: site.send(site.broken()),
}  # fmt: skip
MORE = {
    "run": ["--once"],
    "submit": ["--job-endpoint", "embed", "--environment", "LOOPBACK",
               "--once"],
    "watch": ["--watchlist", "{directory}/watchlist.yaml", "--once"],
    "ingest": ["{directory}/history.jsonl"],
    "backfill": ["--watchlist", "{directory}/watchlist.yaml", "--from", "2025-01", "--to",
                 "2025-01", "--yes"],
    "alert": ["--once"],
    "attribute": ["--once"],
    "tail --all": ["--once", "--from", "beginning"],
    "deadletter list": [],
    "deadletter replay": ["--yes"],
    "state forget --retract": ["cup", "--yes"],
}  # fmt: skip
PROCESSES = ("run", "submit", "watch", "attribute", "backfill", "alert")  # they take over signals


def typed(site: Site, command: str) -> list[str]:
    words = [*command.split(), *MORE.get(command, [])]
    given = [word.format(directory=site.config.parent) for word in words]
    return [*given, "--config", str(site.config)]


def ended(site: Site, command: str, *, fails: bool) -> tuple[int, str]:
    """Exit code and what a command said."""
    if command in PROCESSES:
        result = done(*typed(site, command))
        return result.returncode, result.stderr + result.stdout
    if fails:
        return refused(*typed(site, command))
    return 0, run(*typed(site, command)).output


def fewer(rights: list[Right]) -> Iterator[tuple[Right, list[Right]]]:
    """Each right, and all others: of Read and Write, Describe is left, which Kafka gives with them.

    Of the same right on all topics only the first is taken away.
    """
    taken: set[str] = set()
    for right in rights:
        if right.operation in ("Create", "DescribeConfigs"):
            if right.operation in taken:
                continue
            taken.add(right.operation)
        others = [other for other in rights if other != right]
        if right.operation in ("Read", "Write") and right.kind == "topic":
            others.append(replace(right, operation="Describe"))
        yield right, others


def test_the_table_names_what_is_tested_here() -> None:
    assert set(WORK) | set(MORE) <= set(TABLE)
    assert set(TABLE) - set(MORE) == {"topics create", "topics describe", "doctor"}


@pytest.mark.parametrize("command", MORE)
def test_a_command_works_with_its_rights_and_names_the_one_that_is_missing(site, command):
    for missing, rights in fewer(TABLE[command]):
        WORK.get(command, lambda _: None)(site)
        site.node.grant(rights)
        code, said = ended(site, command, fails=True)
        assert code == (1 if command == "submit" else 2), (missing, said)
        assert re.search("AuthorizationFailed|may not write", said), (missing, said)
        assert missing.name in said, (missing, said)
    WORK.get(command, lambda _: None)(site)
    site.node.grant(TABLE[command])
    code, said = ended(site, command, fails=False)
    assert code == 0, said


def test_topics_are_described_compared_and_created_with_their_rights(site, monkeypatch):
    for missing, rights in fewer(TABLE["topics describe"]):
        site.node.grant(rights)
        if missing.operation == "Describe":
            code, said = refused(*typed(site, "topics describe"))
            assert code == 2 and missing.name in said
        else:
            told = run(*typed(site, "topics describe"), "--json").output
            (row,) = [row for row in json.loads(told) if row["differences"]]
            assert row["name"] == missing.name and "DescribeConfigs" in row["differences"][0]
    site.node.grant(TABLE["doctor"])
    checks = json.loads(CliRunner().invoke(app, [*typed(site, "doctor"), "--json"]).output)
    assert {c["name"]: c["ok"] for c in checks}["topics"]

    monkeypatch.setenv("RADARSTREAM_KAFKA__TOPIC_PREFIX", "new.")
    anew = [replace(r, name=r.name.replace(PREFIX, "new.")) for r in TABLE["topics create"]]
    for missing in ("Describe", "Create"):
        site.node.grant([r for r in anew if (r.operation, r.name) != (missing, anew[0].name)])
        code, said = refused(*typed(site, "topics create"))
        assert code == 2 and anew[0].name in said, said
    site.node.grant(anew)
    assert "new.search.snapshots" in run(*typed(site, "topics create")).output
