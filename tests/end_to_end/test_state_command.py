"""`radarstream state` as an operator uses it."""

import json
import sqlite3
from collections.abc import Iterator
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
ROW = MemoryRow(
    "q-mine",
    "radar",
    7,
    1_700_000_000_123,
    "cluster-a",
    3,
    41,
    encode_state(Belief("Ada Lovelace", 0.75, 0.125), StandingAnswer("Ada Lovelace", None)),
    44,
)


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
        query_id = query.replace("_", "-")
        commit_fold(engine, None, replace(ROW, query_id=query_id, **changes))
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
    assert "Ada Lovelace" in text
    assert "cluster-a" in text
    assert run("show", QUESTION.upper()).stdout == text


def test_show_lists_the_queries_up_to_a_limit(database: str) -> None:
    listed = json.loads(run("show", "--json").stdout)
    assert listed["queries"] == 2
    assert [row["query_id"] for row in listed["rows"]] == ["q-mine", "q-other"]
    text = run("show", "--limit", 1).stdout
    assert "q-mine" in text
    assert "q-other" not in text
    assert "1 of 2 queries" in text
    assert "mayor of Canaryville" in " ".join(text.split())


def test_the_list_says_what_stands_and_since_when(database: str) -> None:
    now, then = StandingAnswer("Rome", time_at(ROW.as_of_ms)), StandingAnswer("Lima", JUNE)
    states = {"q_now": encode_state(None, now), "q_then": encode_state(None, then)}
    remember(database, **{query: {"state": state} for query, state in states.items()})
    shown = json.loads(run("show", "q-then", "--json").stdout)
    assert (shown["standing"], shown["standing_confirmed_at"]) == (
        "Lima",
        "2023-06-02T00:00:00.000Z",
    )
    lines = {line.split()[0]: line for line in run("show").stdout.splitlines() if line.split()}
    assert "standing answer" in lines["query"] and "confirmed" in lines["query"]
    assert "Rome" in lines["q-now"] and " yes " in lines["q-now"]
    assert "Lima" in lines["q-then"] and " not since 2023-06-02 " in lines["q-then"]
    assert "Ada Lovelace" in lines["q-mine"] and " not known " in lines["q-mine"]
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
    text = run("show").stdout
    assert "\x1b[2J" not in text
    assert "malformed_json" in json.dumps(json.loads(run("show", "--json").stdout))
    for query in ("q-evil", "q-bad", "q-none"):
        assert "\x1b" not in run("show", query).stdout


def test_export_and_import_through_files(database, tmp_path, monkeypatch) -> None:
    file = tmp_path / "export.jsonl"
    assert "4 rows exported to" in run("export", "--out", file).stdout
    piped = run("export")
    assert piped.stdout == file.read_text()
    assert piped.stderr == "4 rows exported\n"
    assert not list(tmp_path.glob("*.part"))
    monkeypatch.setenv("RADARSTREAM_DATABASE", f"sqlite:///{tmp_path / 'new.db'}")
    assert json.loads(run("import", file, "--json").stdout) == {"memory": 2, "watchlist": 2}
    assert "memory" in run("import", file).stdout
    assert run("export").stdout == file.read_text()


def test_an_export_tells_of_unsent_events(database: str) -> None:
    engine = open_engine(database)
    envelope = Envelope(id="e", type="t", source="s", partitionkey="q-1", dataschema="urn:x")
    append(engine, [OutboxRecord("answers.defended", envelope, b"{}")])
    engine.dispose()
    assert "1 events wait" in run("export").stderr


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
    said = f"error: {none} does not exist or is no file\n"
    assert refused("import", none) == (2, said)


def test_forget_takes_the_question_from_the_watchlist(database: str, tmp_path: Path) -> None:
    result = json.loads(run("forget", "q-mine", "--yes", "--json").stdout)
    assert result["deleted"] == {
        "memory": 1,
        "unsent_events": 0,
        "watchlist": 1,
        "cached_answers": 1,
        "cached_embeddings": 0,
        "corpus_texts": 0,
        "incidents": 0,
        "logged_actions": 0,
        "answer_events": 0,
        "user_questions": 0,
    }
    assert any("--retract" in sentence for sentence in result["kept"])
    assert b"Canaryville" not in b"".join(f.read_bytes() for f in tmp_path.glob("state.db*"))
    run("show", "q-other")


def test_forget_finds_a_query_by_its_question(database: str, tmp_path: Path) -> None:
    typed = QUESTION.rstrip("?").upper()
    result = json.loads(run("forget", typed, "--yes", "--json").stdout)
    assert result["query_id"] == "q-mine"
    assert (result["deleted"]["memory"], result["deleted"]["cached_answers"]) == (1, 1)
    asked = Query.from_text("Who leads France?")
    remember(database, **{asked.id: {}})
    result = json.loads(run("forget", "who leads france", "--yes", "--json").stdout)
    assert (result["query_id"], result["deleted"]["cached_answers"]) == (asked.id, 1)


def test_forget_says_when_it_does_not_know_the_question(database: str) -> None:
    text = run("forget", "q-other", "--yes").stdout
    assert "not looked for" in text
    assert "the question is not on record" in text


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
    result = run("show", "q-mine", exit_code=1)
    assert "nothing is remembered" in str(result.exception)


def test_retract_sends_tombstones(database, own_broker, monkeypatch) -> None:
    monkeypatch.setenv("RADARSTREAM_KAFKA__BOOTSTRAP", own_broker.bootstrap)
    commands.forget_shared()
    assert CliRunner().invoke(app, ["topics", "create"]).exit_code == 0
    assert "tombstones were sent" in run("forget", "q-mine", "--yes", "--retract").stdout
    consumer = KafkaConsumer(bootstrap_servers=own_broker.bootstrap, group_id=None)
    for topic in ("answers.defended", "events.attribution"):
        places = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)]
        consumer.assign(places)
        consumer.seek_to_beginning()
        ((record,),) = consumer.poll(timeout_ms=10_000).values()
        assert (record.key, record.value) == (b"q-mine", None)
    consumer.close()


def test_a_broker_that_is_away_fails_the_command_but_not_the_deletion(database, monkeypatch):
    monkeypatch.setenv("RADARSTREAM_KAFKA__BOOTSTRAP", f"127.0.0.1:{free_port()}")
    monkeypatch.setenv("RADARSTREAM_KAFKA__REQUEST_TIMEOUT_S", "1")
    monkeypatch.setenv("RADARSTREAM_KAFKA__DELIVERY_TIMEOUT_S", "2")
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
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)
        connection.executescript(script)
    connection.close()
    assert run("migrate", "--sql").stdout == f"-- nothing to do: the schema is {HEAD}\n"
    assert HEAD in run("migrate").stdout
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    for command in (["migrate"], ["migrate", "--sql"], ["show"]):
        code, said = refused(*command)
        assert code == 2
        assert "use the release that made it, or another database" in said
