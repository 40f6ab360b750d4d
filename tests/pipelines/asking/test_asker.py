"""One question from a user to a reply."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.asking.asker import Asker
from radarstream.pipelines.asking.building import build_asker
from radarstream.pipelines.asking.values import Origin, UserQuestion
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.errors import InputError
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
CAPITAL = "What is the capital of Peru?"
CLAIMS = (
    "Lima is the capital of Peru.",
    "Lima is its capital.",
    "Cusco is the capital of Peru.",
)
OFF: dict[str, Any] = {"policy": "none", "always": ()}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    opened = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    yield opened
    opened.dispose()


def settings_with(**orchestration: Any) -> Settings:
    return load_settings(profile="scripted", orchestration=orchestration)


def asker_with(engine: Engine, **orchestration: Any) -> Asker:
    return build_asker(settings_with(**orchestration), engine=engine)


def question(text: str = CAPITAL, **given: Any) -> UserQuestion:
    documents = tuple(Document(rank, claim) for rank, claim in enumerate(CLAIMS, start=1))
    chosen = {"user": "ann", "asked_at": NOON, "origin": Origin.DOCUMENTS, "wanted": 10}
    chosen |= {"documents": documents} | given
    return UserQuestion(text, **chosen)


def test_with_all_modules_off_a_reply_is_what_the_guard_answers(engine: Engine) -> None:
    asker = asker_with(engine, **OFF)
    asked = question()
    reply = asker.ask(asked)
    guard = asker.answering.guards.configured
    snapshot = SearchSnapshot(Query.from_text(CAPITAL), NOON, asked.documents)
    event, _ = guard.answer(snapshot, guard.initial_memory())
    assert (reply.event, reply.text, reply.documents) == (event, "Lima", asked.documents)


def test_a_question_that_cannot_be_asked_fails_alone(engine: Engine) -> None:
    wrong = [
        question(" "),
        question("x" * 2_001),
        question(wanted=0),
        question(origin=Origin.CORPUS),
    ]
    *failed, answered = asker_with(engine, **OFF).ask_all([*wrong, question()])
    assert all(isinstance(outcome, InputError) for outcome in failed)
    assert not isinstance(answered, Exception)
    assert answered.text == "Lima"
