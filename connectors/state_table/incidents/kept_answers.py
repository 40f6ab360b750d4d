"""Keeps the last answers with their snapshots, to attribute wrong ones."""

from contextlib import suppress
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Engine

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import COMPLAINTS, KEPT_ANSWERS
from radarstream.connectors.state_table.queries.subject import question_subject
from radarstream.schemas.codec import clean, decode_snapshot, encode
from radarstream.schemas.errors import InputError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.incidents import ComplaintState
from radarstream.schemas.records import UNLIMITED
from radarstream.schemas.snapshot import SearchSnapshot

_K = KEPT_ANSWERS.c


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """An answer of a query at a step, and its snapshot.

    `answer` is "" for an abstention. `undefended` is the undefended answer, None if not asked for.
    """

    query_id: str
    step: int
    answer: str
    undefended: str | None
    snapshot: SearchSnapshot

    @staticmethod
    def of(event: AnswerEvent, snapshot: SearchSnapshot) -> "KeptAnswer":
        """Make it from an answer event and its snapshot."""
        answer = "" if event.abstention else event.answer
        return KeptAnswer(event.query_id, event.step, answer, event.undefended_answer, snapshot)


def keep_answer(connection: Connection, kept: KeptAnswer, *, steps: int) -> None:
    """Keep an answer in the caller's transaction; delete older ones than the last `steps`, except
    those with an open complaint.
    """
    row = {
        "query_id": kept.query_id,
        "step": kept.step,
        "subject": question_subject(kept.snapshot.query.text),
        "observed_ms": kept.snapshot.observed_at_ms,
        "answer": clean(kept.answer),
        "undefended": None if kept.undefended is None else clean(kept.undefended),
        "snapshot": encode(kept.snapshot),
    }
    db.upsert(connection, KEPT_ANSWERS, row)
    spent = (_K.query_id == kept.query_id, _K.step <= kept.step - steps)
    connection.execute(sa.delete(KEPT_ANSWERS).where(*spent, ~_complained_about()))


def kept_answers(engine: Engine, query_id: str) -> list[KeptAnswer]:
    """Return the kept answers of a query, the latest first."""
    return _read(engine, _K.query_id == query_id)


def find_answer(engine: Engine, query_id: str, step: int | None = None) -> KeptAnswer | None:
    """Return a query's kept answer at a step, or its latest; None if it is not kept."""
    where = _K.query_id == query_id
    if step is not None:
        where &= _K.step == step
    return next(iter(_read(engine, where, 1)), None)


def prune_answers(engine: Engine, *, days: float) -> int:
    """Delete answers observed `days` before the newest, except those with an open complaint."""
    newest = sa.select(sa.func.max(_K.observed_ms))
    with engine.begin() as connection:
        latest = connection.execute(newest).scalar_one()
        if latest is None:
            return 0
        old = _K.observed_ms < latest - int(days * 86_400_000)
        unneeded = sa.delete(KEPT_ANSWERS).where(old, ~_complained_about())
        return connection.execute(unneeded).rowcount


def _complained_about() -> ColumnElement[bool]:
    return sa.exists().where(
        COMPLAINTS.c.query_id == _K.query_id,
        COMPLAINTS.c.step == _K.step,
        COMPLAINTS.c.state == ComplaintState.OPEN,
    )


def _read(engine: Engine, where: ColumnElement[bool], limit: int = 1_000) -> list[KeptAnswer]:
    snapshot = sa.cast(_K.snapshot, sa.LargeBinary)  # SQLite does not enforce types
    statement = sa.select(_K.query_id, _K.step, _K.answer, _K.undefended, snapshot).where(where)
    latest_first = statement.order_by(_K.step.desc()).limit(limit)
    kept = []
    for query, at, answer, bare, data in db.fetch(engine, latest_first):
        with suppress(InputError):  # skip a damaged answer
            found = decode_snapshot(data, limits=UNLIMITED)
            kept.append(KeptAnswer(query, at, answer, bare, found))
    return kept
