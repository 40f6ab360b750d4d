"""Forgetting a query: what goes, what other questions keep, and what is left in the files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Engine, text

from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
)
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.forgetting import compact, forget
from radarstream.connectors.state_table.queries.memory import MemoryRow, commit_fold, load
from radarstream.connectors.state_table.queries.outbox import append, pending
from radarstream.connectors.state_table.queries.subject import SUBJECT_CHARACTERS, question_subject
from radarstream.connectors.state_table.queries.watchlist import find, replace_all
from radarstream.pipelines.signals.prompts import MAX_QUESTION_CHARACTERS, build_prompt, plain
from radarstream.schemas.prompt import AnswerPair, Task
from radarstream.schemas.records import Envelope, OutboxRecord

MINE, OTHER = "Who is the  Mayor of Canaryville?", "Who leads France?"


class Models:
    """Scripted models behind the response cache, as the job has them."""

    def __init__(self, engine: Engine) -> None:
        cache = ResponseCache(engine)
        self.generator = Cached(ScriptedGenerator(), cache)
        self.relations = Cached(ScriptedRelations(), cache)
        self.embedder = Cached(ScriptedEmbedder(), cache)

    def ask(self, question: str) -> tuple[int, int, int]:
        """Ask each model about the question; return how many calls reached it."""
        self.generator.complete([build_prompt(Task.ATOMIC_ANSWER, question, ["Ada said so."])])
        self.relations.probabilities([AnswerPair(question, "Ada", "Bob")])
        self.embedder.embed([question])
        return self.generator.calls, self.relations.calls, self.embedder.calls


def make_row(query_id: str) -> MemoryRow:
    return MemoryRow(query_id, "radar", 1, 1_700_000_000_000, "log", 0, 0, b'{"v":1}')


def make_event(topic: str, identity: str, key: str) -> OutboxRecord:
    envelope = Envelope(id=identity, type="t", source="s", partitionkey=key, dataschema="urn:x")
    return OutboxRecord(topic, envelope, b"{}")


def fill(engine: Engine) -> None:
    for query_id in ("q-mine", "q-other"):
        answer = make_event("answers.defended", f"{query_id}/1", query_id)
        reason = make_event("events.attribution", f"{query_id}/1/2", query_id)
        commit_fold(engine, None, make_row(query_id), [answer, reason])
    append(engine, [make_event("snapshots.deadletter", "dead", "q-mine")])
    replace_all(engine, [("q-mine", "{}"), ("q-other", "{}")], 0)
    for question in (MINE, OTHER):
        Models(engine).ask(question)


def deleted(engine: Engine, question: str | None) -> list[int | None]:
    counts = forget(engine, "q-mine", question)
    names = ("memory", "unsent_events", "watchlist", "cached_answers", "cached_embeddings")
    return [counts[name] for name in names]


def test_a_forgotten_query_is_gone_and_the_others_stay(engine: Engine) -> None:
    fill(engine)
    assert deleted(engine, MINE.upper()) == [1, 2, 1, 2, 2]
    assert list(load(engine, ["q-mine", "q-other"])) == ["q-other"]
    left = [record.event_id for _, record in pending(engine)]
    assert left == ["q-other/1", "q-other/1/2", "dead"]
    assert find(engine, "q-mine") is None
    assert find(engine, "q-other") is not None
    assert Models(engine).ask(OTHER) == (0, 0, 1)  # embeddings are computed again
    assert Models(engine).ask(MINE) == (1, 1, 1)
    forget(engine, "q-mine", MINE)
    assert deleted(engine, MINE) == [0, 0, 0, 0, 0]


def test_without_the_question_the_cache_stays(engine: Engine) -> None:
    fill(engine)
    assert deleted(engine, None) == [1, 2, 1, None, None]
    assert Models(engine).ask(MINE) == (0, 0, 0)


def test_damaged_rows_of_others_are_no_obstacle(engine: Engine) -> None:
    fill(engine)
    with engine.begin() as connection:
        connection.execute(text("UPDATE outbox SET data = 'x'"))
    assert forget(engine, "q-mine", MINE)["memory"] == 1
    assert len(pending(engine)) == 3


def test_all_or_nothing(engine: Engine) -> None:
    fill(engine)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE response_cache RENAME TO elsewhere"))
    with pytest.raises(Exception, match="response_cache"):
        forget(engine, "q-mine", MINE)
    assert "q-mine" in load(engine, ["q-mine"])
    assert len(pending(engine)) == 5


@given(st.text(max_size=2_000))
def test_a_prompt_and_its_question_have_one_subject(question: str) -> None:
    shown = plain(question, MAX_QUESTION_CHARACTERS)
    assert question_subject(shown) == question_subject(question)
    assert SUBJECT_CHARACTERS <= MAX_QUESTION_CHARACTERS


def test_a_long_prompt_and_its_question_have_one_subject() -> None:
    question = "Ǆ\u200b é " * 400
    assert question_subject(plain(question, MAX_QUESTION_CHARACTERS)) == question_subject(question)
    assert question_subject("a" * 499 + "b") != question_subject("a" * 499 + "c")


def test_compacting_while_another_writes_says_so(tmp_path: Path) -> None:
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}", busy_timeout_s=0.02)
    fill(engine)
    forget(engine, "q-mine", MINE)
    with engine.begin() as writer:
        writer.execute(text("UPDATE memory SET step = step"))
        assert "run it again" in compact(engine)
    assert compact(engine) == ""
    engine.dispose()
