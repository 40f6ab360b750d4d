"""`radarstream state` as an operator uses it."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition
from rich.console import Console
from typer.testing import CliRunner

from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.migration import HEAD
from radarstream.connectors.state_table.queries.memory import MemoryRow, commit_fold, load
from radarstream.connectors.state_table.queries.outbox import append
from radarstream.connectors.state_table.queries.watchlist import find, replace_all
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.codec.state import encode_state
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.memory import Belief, StandingAnswer
from radarstream.schemas.prompt import Task
from radarstream.schemas.records import Envelope, OutboxRecord
from radarstream.schemas.snapshot import Query
from radarstream.schemas.times import time_at
from tests import commands
from tests.servers import free_port

QUESTION = "Who is the mayor of Canaryville?"
HOSTILE = "Ada\x1b[2J [red]Lovelace[/red] " + "x" * 300
JUNE = datetime(2023, 6, 2, tzinfo=UTC)
STATE = encode_state(Belief("Ada Lovelace", 0.75, 0.125), StandingAnswer("Ada Lovelace", None))
ROW = MemoryRow("q-mine", "radar", 7, 1_700_000_000_123, "cluster-a", 3, 41, STATE, 44)


@pytest.fixture
def database(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A filled database that the settings name."""
    url = f"sqlite:///{tmp_path / 'state.db'}"
    monkeypatch.setenv("RADARSTREAM_DATABASE", url)
    monkeypatch.chdir(tmp_path)
    engine = open_engine(url)
    for query_id in ("q-mine", "q-other"):
        commit_fold(engine, None, replace(ROW, query_id=query_id))
    replace_all(engine, [("q-mine", json.dumps({"question": QUESTION})), ("q-other", "{}")], 5)
    generator = Cached(ScriptedGenerator(), ResponseCache(engine))
    for question in (QUESTION, "Who leads France?"):
        generator.complete([build_prompt(Task.ATOMIC_ANSWER, question, ["Ada."])])
    engine.dispose()
    yield url
    commands.forget_shared()


run = partial(commands.run, "state")
refused = partial(commands.refused, "state")


def remember(database: str, **rows: dict[str, Any]) -> None:
    """Add rows by their query, with what differs from `ROW`."""
    engine = open_engine(database)
    for query, changes in rows.items():
        commit_fold(engine, None, replace(ROW, query_id=query.replace("_", "-"), **changes))
    engine.dispose()


def test_show_decodes_one_query(database: str) -> None:
    assert json.loads(run("show", "q-mine", "--json").stdout) == {
        "query_id": "q-mine",
        "question": "Who is the mayor of Canaryville?",
        "defense": "radar",
        "step": 7,
        "as_of": "2023-11-14T22:13:20.123Z",
        "answer": "Ada Lovelace",
        "entailment": 0.75,
        "contradiction": 0.125,
        "confirmed_at": None,
        "standing": "Ada Lovelace",
        "standing_confirmed_at": None,
        "log_epoch": "cluster-a",
        "log_partition": 3,
        "log_offset": 41,
        "log_high_offset": 44,
        "bytes": 6 + 5 + 5 * 8 + 9 + len(ROW.state),
    }
    text = run("show", "q-mine").stdout
    assert "Ada Lovelace" in text and "cluster-a" in text
    assert run("show", QUESTION.upper()).stdout == text


def test_show_lists_the_queries_up_to_a_limit(database: str) -> None:
    listed = json.loads(run("show", "--json").stdout)
    assert [row["query_id"] for row in listed["rows"]] == ["q-mine", "q-other"]
    text = " ".join(run("show", "--limit", 1).stdout.split())
    assert all(words in text for words in ("q-mine", "1 of 2 queries", "mayor of Canaryville"))
    assert (listed["queries"], "q-other" in text) == (2, False)


def test_the_list_says_what_stands_and_since_when(database: str) -> None:
    now, then = StandingAnswer("Rome", time_at(ROW.as_of_ms)), StandingAnswer("Lima", JUNE)
    states = {"q_now": encode_state(None, now), "q_then": encode_state(None, then)}
    remember(database, **{query: {"state": state} for query, state in states.items()})
    shown = json.loads(run("show", "q-then", "--json").stdout)
    confirmed = (shown["standing"], shown["standing_confirmed_at"])
    assert confirmed == ("Lima", "2023-06-02T00:00:00.000Z")
    lines = {line.split()[0]: line for line in run("show").stdout.splitlines() if line.split()}
    for query, answer, confirmed in (
        ("query", "standing answer", "confirmed"),
        ("q-now", "Rome", " yes "),
        ("q-then", "Lima", " not since 2023-06-02 "),
        ("q-mine", "Ada Lovelace", " not known "),
    ):
        assert answer in lines[query] and confirmed in lines[query]
    assert "support" not in run("show").stdout + run("show", "q-mine").stdout


def test_show_cuts_no_id_where_the_terminal_is_narrow(database, monkeypatch) -> None:
    remember(database, who_won_the_womens_cup_in_2015={})
    monkeypatch.setattr("radarstream.pipelines.cli.terminal.stdout", Console(width=80))
    shown = run("show").stdout
    for words in ("who-won-the-womens-cup-in-2015", "snapshots", "as of", "2023-11"):
        assert words in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_show_survives_hostile_and_damaged_rows(database: str) -> None:
    remember(
        database,
        q_evil={"state": encode_state(Belief(HOSTILE, 0.5, 0.5))},
        q_bad={"state": b"\xff", "as_of_ms": 2**62},
        q_none={"state": encode_state(None)},
    )
    assert "\x1b[2J" not in run("show").stdout
    assert "malformed_json" in json.dumps(json.loads(run("show", "--json").stdout))
    for query in ("q-evil", "q-bad", "q-none"):
        assert "\x1b" not in run("show", query).stdout


def test_export_and_import_through_files(database, tmp_path, monkeypatch) -> None:
    file = tmp_path / "export.jsonl"
    assert "4 rows exported to" in run("export", "--out", file).stdout
    piped = run("export")
    assert (piped.stdout, piped.stderr) == (file.read_text(), "4 rows exported\n")
    engine = open_engine(database)
    envelope = Envelope(id="e", type="t", source="s", partitionkey="q-1", dataschema="urn:x")
    append(engine, [OutboxRecord("answers.defended", envelope, b"{}")])
    engine.dispose()
    assert "1 events wait" in run("export").stderr
    assert not list(tmp_path.glob("*.part"))
    monkeypatch.setenv("RADARSTREAM_DATABASE", f"sqlite:///{tmp_path / 'new.db'}")
    assert json.loads(run("import", file, "--json").stdout) == {"memory": 2, "watchlist": 2}
    assert "memory" in run("import", file).stdout
    assert run("export").stdout == file.read_text()


def test_an_import_of_one_query_repairs_its_memory_alone(database: str, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    run("export", "--out", file)
    engine = open_engine(database)
    commit_fold(engine, ROW, damaged := replace(ROW, step=8, state=b"\xff"))
    other = replace(ROW, query_id="q-other")
    commit_fold(engine, other, moved := replace(other, step=9))
    assert refused("import", file, "--query", "q-mine")[0] == 1
    assert load(engine, ["q-mine"])["q-mine"] == damaged
    done = run("import", file, "--query", "q-mine", "--replace", "--json").stdout
    assert json.loads(done) == {"memory": 1}
    assert load(engine, ["q-mine", "q-other"]) == {"q-mine": ROW, "q-other": moved}
    assert "no memory of query 'nope'" in refused("import", file, "--query", "nope")[1]
    engine.dispose()


def test_a_wrong_file_is_named(database: str, tmp_path: Path) -> None:
    file = tmp_path / "export.jsonl"
    file.write_text("{}\n")
    assert refused("import", file)[1].startswith("error: unknown_schema: export.jsonl:1: ")
    none = tmp_path / "none.jsonl"
    assert refused("import", none) == (2, f"error: {none} does not exist or is no file\n")


def test_forget_takes_the_question_from_the_watchlist(database: str, tmp_path: Path) -> None:
    result = json.loads(run("forget", "q-mine", "--yes", "--json").stdout)
    deleted = result["deleted"]
    found = {"memory": 1, "watchlist": 1, "cached_answers": 1}
    assert {name: count for name, count in deleted.items() if count} == found
    assert len(deleted) == 10 and {"incidents", "user_questions", "answer_events"} <= set(deleted)
    assert any("--retract" in sentence for sentence in result["kept"])
    assert b"Canaryville" not in b"".join(f.read_bytes() for f in tmp_path.glob("state.db*"))
    text = run("forget", "q-other", "--yes").stdout  # whose question nobody knows
    assert "not looked for" in text and "the question is not on record" in text


def test_forget_finds_a_query_by_its_question(database: str, tmp_path: Path) -> None:
    result = json.loads(run("forget", QUESTION.rstrip("?").upper(), "--yes", "--json").stdout)
    assert result["query_id"] == "q-mine"
    assert (result["deleted"]["memory"], result["deleted"]["cached_answers"]) == (1, 1)
    asked = Query.from_text("Who leads France?")
    remember(database, **{asked.id: {}})
    result = json.loads(run("forget", "who leads france", "--yes", "--json").stdout)
    assert (result["query_id"], result["deleted"]["cached_answers"]) == (asked.id, 1)


def test_what_is_not_there_or_not_confirmed_is_refused(database, monkeypatch) -> None:
    monkeypatch.setattr("radarstream.pipelines.cli.terminal.interactive", lambda: False)
    for words, code, told in (
        (("show", "q-never"), 1, "nothing is remembered about query 'q-never'\n"),
        (("forget", "nope", "--yes"), 1, "nothing was found about query 'nope'\n"),
        (("forget", "q-mine"), 2, "give --yes to delete query 'q-mine'\n"),
    ):
        assert refused(*words) == (code, f"error: {told}")
    code, said = refused("forget", "Who leads Nowhere?", "--yes", "--retract")
    assert code == 2 and "--retract needs its id" in said
    run("show", "q-mine")


def test_forget_asks_first(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("radarstream.pipelines.cli.terminal.interactive", lambda: True)
    run("forget", "q-mine", answer="n\n", exit_code=1)
    run("show", "q-mine")
    run("forget", "q-mine", answer="y\n")
    assert "nothing is remembered" in str(run("show", "q-mine", exit_code=1).exception)


def test_retract_sends_tombstones(database, own_broker, monkeypatch) -> None:
    monkeypatch.setenv("RADARSTREAM_KAFKA__BOOTSTRAP", own_broker.bootstrap)
    commands.forget_shared()
    assert CliRunner().invoke(app, ["topics", "create"]).exit_code == 0
    assert "tombstones were sent" in run("forget", "q-mine", "--yes", "--retract").stdout
    consumer = KafkaConsumer(bootstrap_servers=own_broker.bootstrap, group_id=None)
    for topic in ("answers.defended", "events.attribution"):
        consumer.assign([TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)])
        consumer.seek_to_beginning()
        ((record,),) = consumer.poll(timeout_ms=10_000).values()
        assert (record.key, record.value) == (b"q-mine", None)
    consumer.close()


def test_a_broker_that_is_away_fails_the_command_but_not_the_deletion(database, monkeypatch):
    monkeypatch.setenv("RADARSTREAM_KAFKA__BOOTSTRAP", f"127.0.0.1:{free_port()}")
    for seconds, name in enumerate(("REQUEST", "DELIVERY"), start=1):
        monkeypatch.setenv(f"RADARSTREAM_KAFKA__{name}_TIMEOUT_S", str(seconds))
    result = run("forget", "q-mine", "--yes", "--retract", exit_code=1)
    assert isinstance(result.exception, BrokerError)
    assert "--retract sends tombstones" in result.stdout
    engine = open_engine(database)
    assert find(engine, "q-mine") is None
    engine.dispose()


def test_migrate_and_its_sql(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.db"
    monkeypatch.setenv("RADARSTREAM_DATABASE", f"sqlite:///{path}")
    script = run("migrate", "--sql").stdout
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        connection.executescript(script)
    assert run("migrate", "--sql").stdout == f"-- nothing to do: the schema is {HEAD}\n"
    assert HEAD in run("migrate").stdout
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    for command in (["migrate"], ["migrate", "--sql"], ["show"]):
        code, said = refused(*command)
        assert code == 2
        assert "use the release that made it, or another database" in said
