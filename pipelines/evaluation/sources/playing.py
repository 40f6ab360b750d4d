"""Plays histories against a defence whose ledger learns from what an oracle confirms."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.sources.ledger import agree, record, standings
from radarstream.connectors.state_table.sources.reader import SourceReader
from radarstream.defenses.protocol import Defense
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.evaluation.datasets import History
from radarstream.pipelines.evaluation.scoring import is_correct, is_fooled
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.responses import all_answered
from radarstream.pipelines.signals.source_credit import borne_out
from radarstream.pipelines.stages import Failure
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Memory, without_answer
from radarstream.schemas.sites import key_of
from radarstream.schemas.snapshot import Document, Labels, SearchSnapshot
from radarstream.schemas.sources import EventKind, LedgerRules, SourceEvent, Standing


@dataclass(frozen=True, slots=True)
class Contender:
    """A defence with or without a ledger; `learn` credits sources of borne-out answers."""

    name: str
    defense: str = "radar"
    source_prior: float = 0.0
    learn: bool = False


@dataclass(frozen=True, slots=True)
class Oracle:
    """What is confirmed after every hit: the attacker's site, and by mistake some honest ones.

    `false_positives` is the share of honest documents of the snapshot that are blamed as well,
    each by lot of the seed, the question and the step alone.
    """

    false_positives: float = 0.0
    seed: int = 0

    @property
    def name(self) -> str:
        """How it is called in tables."""
        return f"{100 * self.false_positives:g} % mistaken" if self.false_positives else "exact"

    def blamed(self, snapshot: SearchSnapshot, step: int) -> list[Document]:
        """The documents that a confirmed attribution names."""
        planted = set((snapshot.labels or Labels()).poisoned_ranks)
        words = f"{self.seed} {snapshot.query.id} {step}".encode()
        lots = np.random.default_rng(list(words)).random(len(snapshot.documents))
        return [
            document
            for document, lot in zip(snapshot.documents, lots, strict=True)
            if document.rank in planted or lot < self.false_positives
        ]


@dataclass(frozen=True, slots=True)
class Step:
    """One answer. `confirmed` is how many hits of this question were confirmed before it, `alone`
    that no page but the attacker's said anything.
    """

    query_id: str
    step: int
    answer: str
    hit: bool
    correct: bool
    confirmed: int
    alone: bool


@dataclass(frozen=True)
class Played:
    """A whole play: its steps, in time order, and the ledger at the end."""

    steps: tuple[Step, ...]
    ledger: dict[str, Standing]


@dataclass(frozen=True)
class Stage:
    """Histories of one length with their evidence, gathered once for all contenders."""

    histories: tuple[History, ...]
    models: Models

    @cached_property
    def evidence(self) -> list[list[Evidence]]:
        """Per step, per question."""
        guard = Guard("radar", build_defense("radar"), self.models)
        return [all_answered(guard.gather(wave)) for wave in zip(*self.histories, strict=True)]

    def play(
        self,
        contender: Contender,
        rules: LedgerRules,
        *,
        oracle: Oracle | None = None,
        before: Sequence[SourceEvent] = (),
        credit: Sequence[tuple[str, int]] = (),
    ) -> Played:
        """Play every step of every question in lockstep, with one ledger for all.

        `before` is in the ledger from the start, and for each domain and time of `credit` as much
        agreement as a day can bring. Raises ModelError when a model fails.
        """
        with TemporaryDirectory() as directory:
            file = Path(directory) / "ledger.sqlite"
            file.write_bytes(database_with(tuple(credit), rules))
            engine = open_engine(f"sqlite:///{file}")
            try:
                with engine.begin() as connection:
                    record(connection, before, rules)
                return self._played(contender, rules, oracle, engine)
            finally:
                engine.dispose()

    def _played(
        self, contender: Contender, rules: LedgerRules, oracle: Oracle | None, engine: Engine
    ) -> Played:
        guard = guard_of(contender, rules, self.models, engine)
        memories: list[Memory[Any]] = [guard.initial_memory() for _ in self.histories]
        confirmed = [0] * len(self.histories)
        steps: list[Step] = []
        for step, wave in enumerate(zip(*self.histories, strict=True)):
            outcomes = guard.decide(list(zip(wave, self.evidence[step], memories, strict=True)))
            with engine.begin() as connection:
                for number, (snapshot, outcome) in enumerate(zip(wave, outcomes, strict=True)):
                    if isinstance(outcome, Failure):
                        raise outcome
                    event, memories[number] = outcome
                    alone = lonely(self.evidence[step][number], snapshot)
                    told = told_step(event, snapshot, confirmed[number], alone=alone)
                    steps.append(told)
                    if told.hit and oracle is not None:
                        confirmed[number] += 1
                        record(connection, events_of(event, snapshot, oracle), rules)
                        memories[number] = unlearnt(memories[number], event.answer)
                    if contender.learn:
                        credit_sources(connection, event, snapshot, rules)
        return Played(tuple(steps), whole_ledger(engine, self.histories))


@cache
def database_with(credit: tuple[tuple[str, int], ...], rules: LedgerRules) -> bytes:
    """A database that holds credit only; filling one takes longer than playing a small world."""
    with TemporaryDirectory() as directory:
        file = Path(directory) / "ledger.sqlite"
        if credit:
            file.write_bytes(database_with((), rules))
        engine = open_engine(f"sqlite:///{file}")
        whole_day = rules.model_copy(update={"agreement": rules.honest_per_day})
        with engine.begin() as connection:
            for domain, at_ms in credit:
                agree(connection, [domain], at_ms, whole_day)
        engine.dispose()
        return file.read_bytes()


def guard_of(
    contender: Contender, rules: LedgerRules, models: Models, engine: Engine
) -> Guard[Any]:
    """A guard that reads this ledger, if its defence listens."""
    defense = defense_of(contender)
    sources = SourceReader(engine, half_life_days=rules.half_life_days)
    return Guard(contender.name, defense, models, sources=sources)


def defense_of(contender: Contender) -> Defense[Any]:
    """The defence of a contender, with its weight of the ledger."""
    options = {"source_prior": contender.source_prior} if contender.source_prior else {}
    return build_defense(contender.defense, options)


def lonely(evidence: Evidence, snapshot: SearchSnapshot) -> bool:
    """Whether planted pages alone answer the question."""
    planted = set((snapshot.labels or Labels()).poisoned_ranks)
    return {evidence.documents[i].rank for i in evidence.informative} <= planted


def told_step(event: AnswerEvent, snapshot: SearchSnapshot, confirmed: int, *, alone: bool) -> Step:
    """What an answer was worth."""
    labels = snapshot.labels or Labels()
    return Step(
        query_id=event.query_id,
        step=event.step,
        answer=event.answer,
        hit=is_fooled(event.answer, labels.target),
        correct=is_correct(event.answer, labels),
        confirmed=confirmed,
        alone=alone,
    )


def events_of(event: AnswerEvent, snapshot: SearchSnapshot, oracle: Oracle) -> list[SourceEvent]:
    """What the oracle tells the ledger about a wrong answer."""
    return [
        SourceEvent(
            event=f"{event.query_id}/{event.step}",
            domain=key_of(document),
            kind=EventKind.CONFIRMED,
            at_ms=snapshot.observed_at_ms,
            query_id=event.query_id,
            step=event.step,
            claim=event.answer,
        )
        for document in oracle.blamed(snapshot, event.step)
    ]


def unlearnt(memory: Memory[Any], wrong: str) -> Memory[Any]:
    """What is left of a memory once an answer is confirmed to be wrong, as in the job."""
    return Memory(memory.step, without_answer(memory.state, wrong))


def credit_sources(
    connection: Connection, event: AnswerEvent, snapshot: SearchSnapshot, rules: LedgerRules
) -> None:
    """As a job that learns does."""
    agree(connection, borne_out(event, snapshot, "site"), snapshot.observed_at_ms, rules)


def whole_ledger(engine: Engine, histories: Sequence[History]) -> dict[str, Standing]:
    """What is known of every site in the histories, the unknown ones included."""
    sites = sites_of(histories)
    with engine.connect() as connection:
        known = standings(connection, sites)
    return {site: known.get(site, Standing(site)) for site in sites}


def sites_of(histories: Sequence[History]) -> list[str]:
    """Every site, in alphabetical order."""
    pages = (d for history in histories for snapshot in history for d in snapshot.documents)
    return sorted({key_of(document) for document in pages} - {""})
