"""A small installation for tests of attribution: folds, complaints, a worker, one database."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any, ClassVar

from sqlalchemy import Engine, select

from radarstream.connectors.state_table.database.statements import fetch
from radarstream.connectors.state_table.database.tables import INCIDENTS
from radarstream.connectors.state_table.incidents import quarantine, store
from radarstream.connectors.state_table.incidents.kept_answers import KeptAnswer, keep_answer
from radarstream.defenses.attribution.protection import Rules
from radarstream.defenses.protocol import Attributing as AttributingGenerator
from radarstream.defenses.protocol import Signal
from radarstream.pipelines.job.incidents.attributing import Attributing
from radarstream.pipelines.job.incidents.intake import take_in
from radarstream.pipelines.job.incidents.settling import decide
from radarstream.pipelines.settings import AttributionSettings
from radarstream.schemas.attribution import Attribution, Case, Finding, TextScore
from radarstream.schemas.incidents import Complaint, Decision, TaughtEvent, text_key
from radarstream.schemas.snapshot import Document, SearchSnapshot
from tests.builders import make_snapshot
from tests.clocks import FakeClock
from tests.scripted_models import scripted_models

NOW = datetime(2025, 6, 2, tzinfo=UTC)
LIED = ("Rome",) * 3 + ("Oslo",) * 4  # Rome is the lie
# `Naming` has one score of few texts, whose agreement with others cannot be tested.
DEFAULT = Rules(max_chance=1.0)


@dataclass(frozen=True)
class Naming:
    """Flags the texts that name the answer, unless all or none do."""

    needs: ClassVar[frozenset[Signal]] = frozenset()
    gap: float = 2.0
    generation_gap: float = 1.0

    def attribute(self, case: Case) -> AttributingGenerator:
        answer = case.answer.casefold()
        named = [answer in text.document.text.casefold() for text in case.texts]
        if all(named) or not any(named):
            return Attribution("naming", Finding.NO_SEPARATION)
        scores = tuple(
            TextScore(t.id, t.document.rank, flag, float(flag), t.similarity)
            for t, flag in zip(case.texts, named, strict=True)
        )
        return Attribution("naming", Finding.TEXTS_FLAGGED, scores, self.gap, self.generation_gap)
        yield  # a generator


@dataclass
class Watching:
    """Remembers what it was told."""

    statuses: list[TaughtEvent] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def settled(self, event: TaughtEvent, seconds: float | None) -> None:
        self.statuses.append(event)

    def failed(self, error: str) -> None:
        self.failures.append(error)


def worker_on(
    engine: Engine, *, attributor: Any = None, models: Any = None, corpus: Any = None, **given: Any
) -> Attributing:
    """A worker on scripted models that read claims like "The winner: Rome."."""
    settings = AttributionSettings(**({"enabled": True, "max_chance": 1.0} | given))
    return Attributing(
        engine,
        models or scripted_models(),
        attributor or Naming(),
        settings,
        FakeClock(NOW),
        Watching(),
        corpus,
    )


def claims(*winners: str) -> list[str]:
    return [f"Page {n}. The winner: {winner}." for n, winner in enumerate(winners, start=1)]


def keep(
    engine: Engine,
    winners: Sequence[str] = LIED,
    *,
    answer: str = "Rome",
    undefended: str | None = None,
    step: int = 0,
    query_id: str = "cup",
    steps: int = 2,
) -> SearchSnapshot:
    """Keep the case of an answer, as a fold does."""
    at = NOW - timedelta(days=1) + timedelta(minutes=step)
    snapshot = make_snapshot(claims(*winners), query_id=query_id, observed_at=at)
    with engine.begin() as connection:
        keep_answer(
            connection, KeptAnswer(query_id, step, answer, undefended, snapshot), steps=steps
        )
    return snapshot


def complaint(
    engine: Engine,
    sender: str,
    answer: str | None = None,
    *,
    query_id: str = "cup",
    step: int | None = None,
    now: datetime = NOW,
    rules: Rules = DEFAULT,
) -> Any:
    return take_in(engine, Complaint(sender, now, query_id, answer=answer, step=step), rules, now)


def complained(
    engine: Engine, *queries: str, by: Sequence[str] = ("eve",), winners: Sequence[str] = LIED
) -> list[Any]:
    """The first of the winners is the answer of each query ("cup"), and senders say that it is
    wrong; the complaints.
    """
    asked = queries or ("cup",)
    for query in asked:
        keep(engine, winners, answer=winners[0], query_id=query)
    return [complaint(engine, sender, query_id=query) for query, sender in product(asked, by)]


def run_out(worker: Attributing) -> list[TaughtEvent]:
    """Work until nothing can be done; return the statuses."""
    while worker.step():
        pass
    return worker.metrics.statuses  # type: ignore[attr-defined]


def trusted(engine: Engine, *senders: str, rules: Rules = DEFAULT) -> None:
    """Let a person confirm enough earlier complaints of each, on queries of their own."""
    rounds = range(rules.trusted_after)
    for name, number in product(senders, rounds):
        query = f"earlier-{name}-{number}"
        keep(engine, ["Rome", "Oslo", "Oslo"], answer="Rome", query_id=query)
        stored = complaint(engine, name, query_id=query, now=NOW - timedelta(days=3))
        now_ms = stored.received_ms + 1
        decide(engine, stored, Decision.APPROVED, rules, now_ms=now_ms)


def events_of(engine: Engine, query_id: str | None = None) -> list[TaughtEvent]:
    """The last event of each attributed incident, attributed last first."""
    of = INCIDENTS.c
    attributed = select(of.incident).where(of.event.is_not(None))
    if query_id is not None:
        attributed = attributed.where(of.query_id == query_id)
    named = fetch(engine, attributed.order_by(of.attributed_ms.desc(), of.incident))
    found = [store.look(engine, name) for (name,) in named]
    return [incident.event for incident in found if incident and incident.event]


def hold(
    engine: Engine, *documents: Document, query_id: str = "cup", everywhere: bool = False
) -> None:
    """Leave texts out of a query, or of all."""
    rows = [
        {
            "incident": "m",
            "text_key": text_key(document),
            "query_id": query_id,
            "content_id": document.content_id,
            "url": document.url,
            "title": document.title,
            "excerpt": "",
            "updated_ms": 0,
        }
        for document in documents
    ]
    with engine.begin() as connection:
        quarantine.put(connection, rows)
        quarantine.switch(connection, "m", active=True, everywhere=everywhere, now_ms=1)


def release(engine: Engine, query_id: str, text_keys: Sequence[str] | None = None) -> int:
    """Let texts of a query, or all, back in; how many rows held them."""
    if text_keys is None:
        text_keys = [row["text_key"] for row in quarantine.list_quarantine(engine, query_id)]
    with engine.begin() as connection:
        return quarantine.release(connection, query_id, text_keys, 1)
