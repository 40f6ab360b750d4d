"""One contender under one condition: its answers to every history, step by step, in batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from radarstream.defenses.protocol import Defense
from radarstream.defenses.temporal import Pool
from radarstream.pipelines.evaluation.costs import ItemCosts, Ledger
from radarstream.pipelines.evaluation.defences.counting import Tally
from radarstream.pipelines.evaluation.defences.gathering import Gathered
from radarstream.pipelines.evaluation.defences.perturbation import Perturbation
from radarstream.pipelines.evaluation.defences.records import Row
from radarstream.pipelines.evaluation.study.plugin import batched, error_words
from radarstream.pipelines.guard import Concluded, Guard
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.stages import Failure
from radarstream.schemas.codec import encode_state
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Memory
from radarstream.schemas.snapshot import Labels


@dataclass(frozen=True)
class Trial:
    """A contender as it meets a condition: its defence, the models it asks, what is perturbed."""

    contender: str
    condition: str
    defense: Defense[Any]
    models: Models
    perturbation: Perturbation | None = None

    def rows(self, histories: Sequence[Sequence[Gathered]], *, batch: int) -> Iterator[list[Row]]:
        """The rows of every history, a batch of snapshots at a time, each history in time order.

        A failed step leaves the memory as it was: the next one goes on from there.
        """
        guard = Guard(self.contender, self.defense, self.models)
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
        self, guard: Guard[Any], items: Sequence[tuple[Gathered, Memory[Any]]]
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
        self, seen: Gathered, memory: Memory[Any], outcome: Concluded[Any] | Failure, tally: Tally
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
        )


def stored_bytes(state: Any) -> int:
    """What a state takes between two steps, as it would be stored; 0 for none."""
    if state is None:
        return 0
    if isinstance(state, Pool):
        return state.bytes + stored_bytes(state.inner)
    return len(encode_state(state))
