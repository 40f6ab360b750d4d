"""After `state forget` no byte of a query is in the database's files, on both databases.

A job, a person's reports and an attribution write the rows; canary words stand in the question and
in the pages that this query alone had found.
"""

import json
from base64 import b64encode
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from sqlalchemy import Engine, event, text
from typer.testing import CliRunner

from radarstream.connectors.state_table.incidents.quarantine import withheld_keys
from radarstream.connectors.state_table.queries.memory import load
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.connectors.state_table.queries.watchlist import replace_all
from radarstream.pipelines.beam.graph import MicroBatch
from radarstream.pipelines.build import shared_corpus, shared_engine, shared_pipeline
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.job.incidents.attributing import Attributing
from radarstream.pipelines.job.incidents.intake import take_in
from radarstream.pipelines.job.incidents.settling import decide
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.codec import encode
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.incidents import Complaint, Decision
from radarstream.schemas.records import RawRecord
from tests.builders import GIVE_ALL, OBSERVED_AT, logged, make_snapshot
from tests.clocks import FakeClock
from tests.commands import forget_shared
from tests.pipelines.job.attributing_rig import NOW, Naming, Watching, run_out

RANDOM = Random(7)


def word() -> str:
    return "".join(RANDOM.choices("bcdfghjkqvwxz", k=7))


ASKED, SHOWN, TOLD = [word() for _ in range(3)], [word() for _ in range(30)], word()
CANARIES = [*ASKED, *SHOWN, TOLD]
QUESTION = f"Who guards {ASKED[0]} \u00fcber {ASKED[1]} and {ASKED[2]}?"
PAGE = f"{' '.join(SHOWN)} was in Rome. " + "It rained. " * 300
SECRET = "q-secret"
OF_ADMINISTRATOR = ["VACUUM (FULL, ANALYZE)", "VACUUM FULL pg_statistic", "CHECKPOINT"]


def spellings(canary: str) -> Iterator[bytes]:
    """A word as it stands in a file: as it is, and within base64 at any offset."""
    yield canary.encode()
    for offset in range(3):
        coded = b64encode(b"\0" * offset + canary.encode())
        yield coded[-(-8 * offset // 6) : (8 * (offset + len(canary))) // 6]


NEEDLES = [spelling for canary in CANARIES for spelling in spellings(canary)]


@pytest.fixture(autouse=True)
def own_process_state() -> Iterator[None]:
    yield
    forget_shared()


@pytest.fixture
def settings(state_url: str, tmp_path: Path) -> Settings:
    config = tmp_path / "job.toml"
    config.write_text(
        f'profile = "scripted"\ndatabase = "{state_url}"\n[corpus]\narchive = true\n'
        "[attribution]\nenabled = true\nmax_chance = 1.0\nkeep_steps = 9\ncorpus_texts = 0\n"
    )
    return load_settings(config, defense=GIVE_ALL)


class Files:
    """What the database has on disk."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.url = engine.url

    def found(self) -> set[bytes]:
        """The canaries that stand in a file."""
        if self.engine.dialect.name == "sqlite":
            file = Path(self.url.database or "")
            files = [file, file.with_name(f"{file.name}-wal")]
        else:
            files = self.of_server()
        data = b"".join(file.read_bytes() for file in files if file.is_file())
        return {needle for needle in NEEDLES if needle in data}

    def of_server(self) -> list[Path]:
        with self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("CHECKPOINT"))
            own = "SELECT oid FROM pg_database WHERE datname = current_database()"
            directory = connection.execute(text(own)).scalar_one()
            base = Path(connection.execute(text("SHOW data_directory")).scalar_one()) / "base"
        return list((base / str(directory)).iterdir())


def records(given: list[bytes], first: int) -> list[RawRecord]:
    return [logged(payload, offset) for offset, payload in enumerate(given, first)]


def of_others(step: int) -> list[bytes]:
    at = OBSERVED_AT + timedelta(days=step)
    texts = ["Output: Rome", "It was in May. Output: Rome", "Output: Oslo"]
    return [
        encode(make_snapshot(texts, question=f"Where is the {q} held?", query_id=q, observed_at=at))
        for q in ("cup", "tea")
    ]


def of_secret(step: int) -> bytes:
    at = OBSERVED_AT + timedelta(days=step)
    texts = [PAGE, *[f"Page {n} of {SHOWN[n]} in Rome. Output: {TOLD}" for n in range(3)]]
    return encode(make_snapshot(texts, question=QUESTION, query_id=SECRET, observed_at=at))


def fill(settings: Settings, engine: Engine) -> None:
    """Let a job answer, people report and a worker attribute; publish nothing."""
    batch = MicroBatch(settings)
    batch(records([of_secret(0), *of_others(0)], 0))
    batch(records([of_secret(1), *of_others(1)], 3))
    entry = json.dumps({"question": QUESTION})
    replace_all(engine, [(SECRET, entry), ("cup", '{"question":"Where is the cup held?"}')], 0)
    rules, models = settings.attribution, shared_pipeline(settings).models
    corpus = shared_corpus(settings)
    worker = Attributing(engine, models, Naming(), rules, FakeClock(NOW), Watching(), corpus)
    for query in (SECRET, "cup"):  # PostgreSQL keeps samples of a table that has become empty
        told = Complaint("eve", NOW, query, answer=None)
        stored = take_in(engine, told, rules, NOW)
        run_out(worker)
        decide(engine, stored, Decision.APPROVED, rules, now_ms=stored.received_ms + 1)
    with engine.begin() as connection:
        connection.execute(text("ANALYZE"))


def forget(tmp_path: Path, *options: str) -> dict[str, Any]:
    arguments = ["state", "forget", SECRET, "--yes", "--json", "--config", f"{tmp_path}/job.toml"]
    done = CliRunner().invoke(app, [*arguments, *options])
    assert done.exit_code == 0, (done.output, done.exception)
    return dict(json.loads(done.stdout))


def test_no_byte_of_a_forgotten_query_is_left_and_others_go_on(settings, tmp_path):
    engine = shared_engine(settings)
    if engine.dialect.name == "sqlite":  # some builds overwrite what they delete, others do not
        event.listen(engine, "checkout", lambda c, *_: c.execute("PRAGMA secure_delete = OFF"))
    fill(settings, engine)
    files = Files(engine)
    before = files.found()
    for words in (ASKED, SHOWN, [TOLD]):
        assert before & {word.encode() for word in words}
    kept = load(engine, ["cup", "tea"]), withheld_keys(engine, ["cup", "tea"])
    events = [r.event_id for _, r in pending(engine, 999) if r.key in ("cup", "tea")]

    done = forget(tmp_path)
    assert done["deleted"]["incidents"] > 0
    on_server = engine.dialect.name == "postgresql"
    asked = [name for name in OF_ADMINISTRATOR if any(name in told for told in done["kept"])]
    assert asked == (OF_ADMINISTRATOR if on_server else [])
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as administrator:
        for statement in asked:
            administrator.execute(text(statement))
    assert files.found() == set()

    assert (load(engine, ["cup", "tea"]), withheld_keys(engine, ["cup", "tea"])) == kept
    left = [r for _, r in pending(engine, 999)]
    assert [r.event_id for r in left if r.key in ("cup", "tea")] == events
    outcomes = MicroBatch(settings)(records(of_others(5), 20))
    assert [(o.query_id, o.step) for o in outcomes if isinstance(o, AnswerEvent)] == [
        ("cup", 2),
        ("tea", 2),
    ]
