"""What contenders see, gathered once per snapshot and condition, and what each of them answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from radarstream.defenses.protocol import EVIDENCE, Defense, Signal
from radarstream.defenses.retrieval.protocol import RetrievalDefense
from radarstream.defenses.temporal import Pool
from radarstream.pipelines import stages
from radarstream.pipelines.evaluation.costs import ATOMIC, RELATIONS, ItemCosts, Ledger, Spending
from radarstream.pipelines.evaluation.defences.records import EvidenceRow, Row
from radarstream.pipelines.evaluation.defences.scorers import Perturbation
from radarstream.pipelines.evaluation.exposure import sites_of_planted
from radarstream.pipelines.evaluation.study.plugin import batched
from radarstream.pipelines.evaluation.study.record import WAYS_OUT, shown
from radarstream.pipelines.evaluation.study.rows import error_words
from radarstream.pipelines.guard import Concluded, DefensePipeline
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.evidence import answer_pairs, document_prompts
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.stages import Failure, Reranked
from radarstream.schemas.codec import encode_state
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import Evidence, FloatArray, Relations
from radarstream.schemas.memory import Memory
from radarstream.schemas.prompt import AnswerPair
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.snapshot import Labels, SearchSnapshot

DECIMALS = 4


@dataclass(frozen=True, eq=False)
class Gathered(stages.Gathered):
    """One snapshot with its signals, its step in its history, and what they cost.

    `relation_seconds` is what relating took, or once took if that is known. `reranking` says how
    the documents were chosen, `poisoned_sites` on how many sites planted ones were found.
    """

    step: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    relation_seconds: float = 0.0
    reranking: Reranking | None = None
    poisoned_sites: int = 0

    def tally(self, needs: frozenset[Signal], ledger: Ledger) -> Spending:
        """The cost with which an answer that needs these signals starts; it goes on in `ledger`."""
        tally = Spending(self.ledger)
        if needs & EVIDENCE:
            for prompt in document_prompts(self.snapshot):
                tally.charge_prompt(prompt, ATOMIC)
        if Signal.RELATIONS in needs:
            tally.charge_pairs(pairs_of(self))
            tally.counts[RELATIONS] = self.relation_seconds
        tally.ledger = ledger
        return tally

    def row(self, condition: str) -> EvidenceRow:
        """What is written down of it."""
        answers = self.answers if isinstance(self.answers, tuple) else ()
        known = self.relations if isinstance(self.relations, Relations) else None
        return EvidenceRow(
            condition=condition,
            query_id=self.snapshot.query.id,
            question=self.snapshot.query.text,
            step=self.step,
            observed_at=self.snapshot.observed_at,
            documents=self.snapshot.documents,
            labels=self.snapshot.labels or Labels(),
            answers=tuple(None if a.abstained else a.text for a in answers),
            entailment=rounded(known.entailment) if known else (),
            contradiction=rounded(known.contradiction) if known else (),
            relation_seconds=self.relation_seconds,
            reranking=self.reranking,
        )


def gather(
    snapshots: Sequence[tuple[SearchSnapshot, int]],
    needs: frozenset[Signal],
    reading: ReadingSettings,
    models: Models,
    reranker: RetrievalDefense | None = None,
    keep: int = 10,
) -> list[Gathered]:
    """The signals of snapshots, each with its step, in one batch per model.

    A `reranker` first chooses at most `keep` documents of each; no contender is charged for that.
    """
    ledger = Ledger()
    bare = [snapshot for snapshot, _ in snapshots]
    chosen: Sequence[Reranked | Failure] = [Reranked(snapshot) for snapshot in bare]
    if reranker is not None:
        chosen = stages.rerank(reranker, keep, bare, models, Costs())
    seen = [one.snapshot for one in chosen if isinstance(one, Reranked)]
    read = iter(stages.gather(seen, lambda _: needs, reading, models, ItemCosts(ledger)))
    gathered = []
    for one, (snapshot, step) in zip(chosen, snapshots, strict=True):
        found = next(read) if isinstance(one, Reranked) else not_chosen(snapshot, one)
        seconds = sum(ledger.pair_seconds.get(pair, 0.0) for pair in pairs_of(found))
        gathered.append(
            Gathered(
                found.snapshot,
                found.answers,
                found.relations,
                found.unread,
                step,
                ledger,
                seconds,
                one.reranking if isinstance(one, Reranked) else None,
                sites_of_planted(snapshot),
            )
        )
    return gathered


def not_chosen(snapshot: SearchSnapshot, failure: Failure) -> stages.Gathered:
    """A snapshot whose documents the reranker did not choose: nobody answers it."""
    error = failure if isinstance(failure, ModelError) else ModelError(error_words(failure))
    return stages.Gathered(snapshot, unread=error)


def pairs_of(gathered: stages.Gathered) -> list[AnswerPair]:
    """The pairs that relating the answers asks for."""
    answers = gathered.answers if isinstance(gathered.answers, tuple) else ()
    return answer_pairs(gathered.snapshot.query.text, answers)


def rounded(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    """A matrix as rows of plain numbers."""
    return tuple(map(tuple, np.round(matrix, DECIMALS).tolist()))


def check_evidence(stored: EvidenceRow, found: EvidenceRow) -> None:
    """Raise ConfigurationError, naming the first difference, unless both show contenders the same.

    Answers count where both have them: a call that failed, or was not needed, has none.
    """
    answered = bool(stored.answers and found.answers)
    seen, now = (shown_to_all(row, answered=answered) for row in (stored, found))
    for what in dict.fromkeys((*seen, *now)):
        if seen.get(what) != now.get(what):
            raise ConfigurationError(
                f"the evidence there is not the evidence now: {stored.condition}, "
                f"{stored.query_id}, step {stored.step}: {what}: {shown(seen.get(what))!r} there, "
                f"{shown(now.get(what))!r} here. {WAYS_OUT}"
            )


def shown_to_all(row: EvidenceRow, *, answered: bool) -> dict[str, object]:
    """What contenders are given, by what it is called in an error message."""
    found: dict[str, object] = {"question": row.question}
    for number, d in enumerate(row.documents, start=1):
        parts = {"rank": d.rank, "title": d.title, "address": d.url, "text": d.text}
        found |= {f"document {number}, its {part}": value for part, value in parts.items()}
    for number, answer in enumerate(row.answers if answered else (), start=1):
        found[f"answer of document {number}"] = answer
    return found


@dataclass(frozen=True)
class Trial:
    """A contender as it meets a condition: its defence, the models it asks, what is perturbed, and
    how many independent sites must say its answer.
    """

    contender: str
    condition: str
    defense: Defense[Any]
    models: Models
    perturbation: Perturbation | None = None
    min_support: int = 0

    def rows(self, histories: Sequence[Sequence[Gathered]], *, batch: int) -> Iterator[list[Row]]:
        """The rows of every history, a batch of snapshots at a time, each history in time order.

        A failed step leaves the memory as it was: the next one goes on from there.
        """
        guard = DefensePipeline(
            self.contender, self.defense, self.models, min_support=self.min_support
        )
        memories = [guard.initial_memory() for _ in histories]
        for step in range(max(map(len, histories), default=0)):
            present = [i for i, history in enumerate(histories) if len(history) > step]
            for part in batched(present, batch):
                items = [(histories[i][step], memories[i]) for i in part]
                rows = []
                for i, (row, memory) in zip(part, self.answers(guard, items), strict=True):
                    rows.append(row)
                    memories[i] = memory
                yield rows

    def answers(
        self, guard: DefensePipeline[Any], items: Sequence[tuple[Gathered, Memory[Any]]]
    ) -> Iterator[tuple[Row, Memory[Any]]]:
        """One row per snapshot and the memory after it, in one batch per model."""
        ledger = Ledger()
        tallies, given = [], []
        for seen, memory in items:
            needs = guard.needs(seen.snapshot)
            evidence = seen.evidence(needs)
            if self.perturbation is not None and isinstance(evidence, Evidence):
                evidence = self.perturbation.perturbed(evidence)
            tallies.append(seen.tally(needs, ledger))
            given.append((seen.snapshot, evidence, memory))
        decided = guard.decide(given, ItemCosts(ledger, tallies))
        for (seen, before), outcome, tally in zip(items, decided, tallies, strict=True):
            memory = before if isinstance(outcome, Failure) else outcome[1]
            yield self.row(seen, memory, outcome, tally), memory

    def row(
        self,
        seen: Gathered,
        memory: Memory[Any],
        outcome: Concluded[Any] | Failure,
        tally: Spending,
    ) -> Row:
        """What is written down of one answer or failure; `memory` is the one after it."""
        event = None if isinstance(outcome, Failure) else outcome[0]
        return Row(
            contender=self.contender,
            condition=self.condition,
            query_id=seen.snapshot.query.id,
            step=seen.step,
            observed_at=seen.snapshot.observed_at,
            # The false passages are long, and in the evidence row.
            labels=replace(seen.snapshot.labels or Labels(), false_passages=()),
            verdict=event.verdict if event else None,
            error=error_words(outcome) if isinstance(outcome, Failure) else None,
            cost=tally.cost(),
            state_bytes=stored_bytes(memory.state),
            changed=event.changed if event else None,
            status=event.status if event else None,
            confidence=event.confidence if event else None,
            poisoned_sites=seen.poisoned_sites,
        )


def stored_bytes(state: Any) -> int:
    """What a state takes between two steps, as it would be stored; 0 for none."""
    if state is None:
        return 0
    if isinstance(state, Pool):
        return state.bytes + stored_bytes(state.inner)
    return len(encode_state(state))
