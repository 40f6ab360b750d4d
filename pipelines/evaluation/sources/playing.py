"""Plays histories against a defence whose ledger learns from what an oracle confirms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sqlalchemy import Engine

from radarstream.connectors.state_table.database.engine import open_engine, sqlite_url
from radarstream.connectors.state_table.sources.ledger import agree, record, standings
from radarstream.connectors.state_table.sources.reader import SourceReader
from radarstream.defenses.protocol import Defense
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.evaluation.datasets import History
from radarstream.pipelines.evaluation.scoring import is_correct, is_fooled
from radarstream.pipelines.evaluation.sources.rows import AnswerRow
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Ready
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.source_credit import borne_out
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

    def build(self) -> Defense[Any]:
        """The defence, with its weight of the ledger."""
        options = {"source_prior": self.source_prior} if self.source_prior else {}
        return build_defense(self.defense, options)


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
        planted = _planted(snapshot)
        words = f"{self.seed} {snapshot.query.id} {step}".encode()
        lots = np.random.default_rng(list(words)).random(len(snapshot.documents))
        return [
            document
            for document, lot in zip(snapshot.documents, lots, strict=True)
            if document.rank in planted or lot < self.false_positives
        ]

    def events(self, event: AnswerEvent, snapshot: SearchSnapshot) -> list[SourceEvent]:
        """What the ledger is told about a wrong answer."""
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
            for document in self.blamed(snapshot, event.step)
        ]


@dataclass(frozen=True)
class Played:
    """A whole play: its answers, in time order, and the ledger at the end."""

    steps: tuple[AnswerRow, ...]
    ledger: dict[str, Standing]


def insisted(found: Ready | Failure) -> Ready:
    """What was found. Raises what failed."""
    if isinstance(found, Failure):
        raise found
    return found


@dataclass(frozen=True)
class Stage:
    """Histories of one length with their evidence, gathered once for all contenders."""

    histories: tuple[History, ...]
    models: Models
    reading: ReadingSettings = ReadingSettings()

    @cached_property
    def evidence(self) -> list[list[Ready]]:
        """Per step, per question. Raises ModelError."""
        pipeline = DefensePipeline(
            "radar", build_defense("radar"), self.models, reading=self.reading
        )
        return [
            [insisted(found) for found in pipeline.gather(wave)]
            for wave in zip(*self.histories, strict=True)
        ]

    def play(
        self,
        contender: Contender,
        rules: LedgerRules,
        *,
        condition: str = "",
        oracle: Oracle | None = None,
        before: Sequence[SourceEvent] = (),
        credit: Sequence[tuple[str, int]] = (),
    ) -> Played:
        """Play every step of every question in lockstep, with one ledger for all.

        `before` is in the ledger from the start, and for each domain and time of `credit` as much
        agreement as a day can bring. Raises ModelError when a model fails.
        """
        whole_day = rules.model_copy(update={"agreement": rules.honest_per_day})
        with TemporaryDirectory() as directory:
            engine = open_engine(sqlite_url(Path(directory) / "ledger.sqlite"))
            try:
                with engine.begin() as connection:
                    for domain, at_ms in credit:
                        agree(connection, [domain], at_ms, whole_day)
                    record(connection, before, rules)
                steps = self._steps(contender, condition, rules, oracle, engine)
                return Played(tuple(steps), _whole_ledger(engine, self.histories))
            finally:
                engine.dispose()

    def _steps(
        self,
        contender: Contender,
        condition: str,
        rules: LedgerRules,
        oracle: Oracle | None,
        engine: Engine,
    ) -> Iterator[AnswerRow]:
        sources = SourceReader(engine, half_life_days=rules.half_life_days)
        pipeline = DefensePipeline(contender.name, contender.build(), self.models, sources=sources)
        memories: list[Memory[Any]] = [pipeline.initial_memory() for _ in self.histories]
        confirmed = [0] * len(self.histories)
        for wave, evidence in zip(zip(*self.histories, strict=True), self.evidence, strict=True):
            outcomes = pipeline.conclude(list(zip(evidence, memories, strict=True)))
            with engine.begin() as connection:
                for number, (snapshot, outcome) in enumerate(zip(wave, outcomes, strict=True)):
                    if isinstance(outcome, Failure):
                        raise outcome
                    event, memories[number] = outcome.event, outcome.memory
                    told = told_step(event, snapshot, contender, condition)
                    alone = _ranks_that_answer(evidence[number].evidence) <= _planted(snapshot)
                    yield replace(told, confirmed=confirmed[number], alone=alone)
                    if told.fooled and oracle is not None:
                        confirmed[number] += 1
                        record(connection, oracle.events(event, snapshot), rules)
                        left = without_answer(memories[number].state, event.answer)
                        memories[number] = Memory(memories[number].step, left)
                    if contender.learn:
                        kept = borne_out(event, snapshot, "site")
                        agree(connection, kept, snapshot.observed_at_ms, rules)


def told_step(
    event: AnswerEvent, snapshot: SearchSnapshot, contender: Contender, condition: str
) -> AnswerRow:
    """What an answer was worth."""
    labels = snapshot.labels or Labels()
    return AnswerRow(
        contender=contender.name,
        condition=condition,
        query_id=event.query_id,
        step=event.step,
        answer=event.answer,
        fooled=is_fooled(event.answer, labels.target),
        correct=is_correct(event.answer, labels),
    )


def _planted(snapshot: SearchSnapshot) -> set[int]:
    """The ranks of the attacker's pages."""
    return set((snapshot.labels or Labels()).poisoned_ranks)


def _ranks_that_answer(evidence: Evidence) -> set[int]:
    return {evidence.documents[place].rank for place in evidence.informative}


def _whole_ledger(engine: Engine, histories: Sequence[History]) -> dict[str, Standing]:
    """What is known of every site in the histories, in alphabetical order, the unknown ones
    included.
    """
    pages = (d for history in histories for snapshot in history for d in snapshot.documents)
    sites = sorted({key_of(document) for document in pages} - {""})
    with engine.connect() as connection:
        known = standings(connection, sites)
    return {site: known.get(site, Standing(site)) for site in sites}
