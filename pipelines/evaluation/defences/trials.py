"""One contender under one condition: its answers to every history, step by step, in batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from radarstream.defenses.protocol import Defense
from radarstream.defenses.temporal import Pool
from radarstream.pipelines.evaluation.costs import ItemCosts, Ledger
from radarstream.pipelines.evaluation.defences.counting import Tally
from radarstream.pipelines.evaluation.defences.gathering import Gathered
from radarstream.pipelines.evaluation.defences.perturbation import Perturbation
from radarstream.pipelines.evaluation.defences.records import Row
from radarstream.pipelines.evaluation.study.plugin import error_words
from radarstream.pipelines.guard import Concluded, Guard
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.stages import Failure
from radarstream.schemas.codec import encode_state
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Memory
from radarstream.schemas.snapshot import Labels

History = Sequence[Gathered]


@dataclass(frozen=True)
class Trial:
    """A contender as it meets a condition: its defence, the models it asks, what is perturbed."""

    contender: str
    condition: str
    defense: Defense[Any]
    models: Models
    perturbation: Perturbation | None = None

    def rows(self, histories: Sequence[History], *, batch: int) -> Iterator[list[Row]]:
        """The rows of every history, a batch of snapshots at a time, each history in time order.

        A failed step leaves the memory as it was: the next one goes on from there.
        """
        guard = Guard(self.contender, self.defense, self.models)
        memories = [guard.initial_memory() for _ in histories]
        longest = max(map(len, histories), default=0)
        for step in range(longest):
            present = iter([i for i, history in enumerate(histories) if len(history) > step])
            while chunk := list(islice(present, batch)):
                items = [(histories[i][step], memories[i]) for i in chunk]
                answered = self.answers(guard, items)
                for i, (_, memory) in zip(chunk, answered, strict=True):
                    memories[i] = memory
                yield [row for row, _ in answered]

    def answers(
        self, guard: Guard[Any], items: Sequence[tuple[Gathered, Memory[Any]]]
    ) -> list[tuple[Row, Memory[Any]]]:
        """One row per snapshot and the memory after it, in one batch per model."""
        ledger = Ledger()
        tallies = [seen.tally(guard.needs(seen.snapshot), ledger) for seen, _ in items]
        given = [(seen.snapshot, self.evidence(guard, seen), memory) for seen, memory in items]
        outcomes = guard.decide(given, ItemCosts(ledger, tallies))
        return [
            self.concluded(seen, memory, outcome, tally)
            for (seen, memory), outcome, tally in zip(items, outcomes, tallies, strict=True)
        ]

    def evidence(self, guard: Guard[Any], seen: Gathered) -> Evidence | ModelError:
        """What the defence is given: the signals that it reads in this snapshot, and no others."""
        evidence = seen.evidence(guard.needs(seen.snapshot))
        if self.perturbation is None or isinstance(evidence, ModelError):
            return evidence
        return self.perturbation.perturbed(evidence)

    def concluded(
        self, seen: Gathered, before: Memory[Any], outcome: Concluded[Any] | Failure, tally: Tally
    ) -> tuple[Row, Memory[Any]]:
        """What is written down of one answer, or of why there is none; and the memory after it."""
        error = outcome if isinstance(outcome, Failure) else None
        event, memory = (None, before) if isinstance(outcome, Failure) else outcome
        labels = seen.snapshot.labels or Labels()
        row = Row(
            contender=self.contender,
            condition=self.condition,
            query_id=seen.snapshot.query.id,
            step=seen.step,
            observed_at=seen.snapshot.observed_at,
            labels=replace(labels, false_passages=()),  # long, and in the evidence row
            verdict=event.verdict if event else None,
            error=error_words(error) if error else None,
            cost=tally.cost(),
            state_bytes=stored_bytes(memory.state),
            changed=event.changed if event else None,
        )
        return row, memory


def stored_bytes(state: Any) -> int:
    """What a state takes between two steps, as it would be stored; 0 for none."""
    if state is None:
        return 0
    if isinstance(state, Pool):
        return state.bytes + stored_bytes(state.inner)
    return len(encode_state(state))
