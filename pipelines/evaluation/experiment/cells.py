"""One contender under one condition: its answers to every history, step by step, in batches."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from radarstream.defenses.protocol import Defense, Signal
from radarstream.defenses.temporal import Pool
from radarstream.pipelines.evaluation.datasets import is_long_form
from radarstream.pipelines.evaluation.experiment.contenders import needs_at
from radarstream.pipelines.evaluation.experiment.counting import Ledger, Tally, counted
from radarstream.pipelines.evaluation.experiment.gathering import Gathered
from radarstream.pipelines.evaluation.experiment.long_form import in_its_form
from radarstream.pipelines.evaluation.experiment.perturbation import Perturbation
from radarstream.pipelines.evaluation.experiment.records import Row
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.codec import encode_state
from radarstream.schemas.errors import EvidenceError, ModelError
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.snapshot import Labels
from radarstream.schemas.verdict import Verdict

ERROR_CHARACTERS = 300
History = Sequence[Gathered]


@dataclass(frozen=True)
class Cell:
    """A contender as it meets a condition: its defence, the models it asks, what is perturbed."""

    contender: str
    condition: str
    defense: Defense[Any]
    models: Models
    perturbation: Perturbation | None = None

    def rows(self, histories: Sequence[History], *, batch: int) -> Iterator[list[Row]]:
        """The rows of every history, a batch of snapshots at a time, each history in time order.

        A failed step leaves the state as it was: the next one goes on from there.
        """
        states = [self.defense.initial_state() for _ in histories]
        longest = max(map(len, histories), default=0)
        for step in range(longest):
            present = iter([i for i, history in enumerate(histories) if len(history) > step])
            while chunk := list(islice(present, batch)):
                items = [(histories[i][step], states[i]) for i in chunk]
                answered = in_its_form(
                    items, lambda item: is_long_form(item[0].snapshot), self.answers, self.models
                )
                for i, (_, state) in zip(chunk, answered, strict=True):
                    states[i] = state
                yield [row for row, _ in answered]

    def answers(
        self, items: Sequence[tuple[Gathered, Any]], models: Models
    ) -> list[tuple[Row, Any]]:
        """One row per snapshot and the state after it, in one batch per model."""
        ledger = Ledger()
        tallies = [gathered.tally(self.needs(gathered)) for gathered, _ in items]
        evidence = [self.evidence(gathered) for gathered, _ in items]
        defendings = {
            i: counted(self.defense.defend(seen, items[i][1]), tallies[i], ledger)
            for i, seen in enumerate(evidence)
            if not isinstance(seen, ModelError)
        }
        outcomes = dict(
            zip(
                defendings,
                drive(list(defendings.values()), ledger.around(models)),
                strict=True,
            )
        )
        return [
            self.concluded(item, outcomes.get(i, seen), tallies[i])
            for i, (item, seen) in enumerate(zip(items, evidence, strict=True))
        ]

    def evidence(self, gathered: Gathered) -> Evidence | ModelError:
        """What the defence is given."""
        seen = gathered.evidence(self.needs(gathered))
        if self.perturbation is None or isinstance(seen, ModelError):
            return seen
        return self.perturbation.perturbed(seen)

    def needs(self, gathered: Gathered) -> frozenset[Signal]:
        """The signals the defence reads in this snapshot: it is given no others, and pays for
        no others.
        """
        return needs_at(self.defense, len(gathered.snapshot.documents))

    def concluded(self, item: tuple[Gathered, Any], outcome: Any, tally: Tally) -> tuple[Row, Any]:
        """The row of an outcome: a verdict and a state, or what went wrong."""
        gathered, before = item
        if isinstance(outcome, ModelError):
            return self.row(gathered, outcome, tally, before), before
        result, state = outcome
        if isinstance(result, EvidenceError):
            state = before
        return self.row(gathered, result, tally, state), state

    def row(self, gathered: Gathered, result: Verdict | Exception, tally: Tally, state: Any) -> Row:
        """What is written down of one answer, or of why there is none."""
        labels = gathered.snapshot.labels or Labels()
        return Row(
            contender=self.contender,
            condition=self.condition,
            query_id=gathered.snapshot.query.id,
            step=gathered.step,
            observed_at=gathered.snapshot.observed_at,
            labels=replace(labels, false_passages=()),  # long, and in the evidence row
            verdict=result if isinstance(result, Verdict) else None,
            error=error_words(result) if isinstance(result, Exception) else None,
            cost=tally.cost(),
            state_bytes=stored_bytes(state),
        )


def error_words(error: Exception) -> str:
    """The kind of an error and the start of what it says."""
    return f"{type(error).__name__}: {error}"[:ERROR_CHARACTERS]


def stored_bytes(state: Any) -> int:
    """What a state takes between two steps, as it would be stored; 0 for none."""
    if state is None:
        return 0
    if isinstance(state, Pool):
        return state.bytes + stored_bytes(state.inner)
    return len(encode_state(state))
