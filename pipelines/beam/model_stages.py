"""The two steps of the graph that ask models, each on a batch of whole snapshots.

The prompts of all snapshots of a batch go to the models in one call, so no shuffle is needed. A
snapshot whose model calls fail comes out as a dead letter and the others of its batch go on; dead
letters of earlier steps pass through.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import apache_beam as beam

from radarstream.pipelines.beam.elements import Answered, Observed, Parked, Ready, failed
from radarstream.pipelines.beam.withholding import leave_out
from radarstream.pipelines.build import shared_engine, shared_guard
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import ModelError
from radarstream.schemas.records import RawRecord

InT = TypeVar("InT")
OutT = TypeVar("OutT")


class InBatches(beam.PTransform[Any, Any]):
    """Apply a stage to batches of the configured size; the last ones of a bundle are smaller."""

    def __init__(self, stage: "Stage") -> None:
        super().__init__()
        self.stage = stage

    def expand(self, elements: Any) -> Any:
        """Build the two steps."""
        size = self.stage.settings.batch.snapshots
        batching = beam.BatchElements(min_batch_size=size, max_batch_size=size)
        return elements | "Batch" >> batching | "Ask" >> beam.ParDo(self.stage)


class Stage(beam.DoFn, ABC):
    """One of the guard's stages; every batch asks the guard that the process shares."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def process(self, batch: Sequence[Any]) -> Iterator[Any]:
        """Run the stage on a batch."""
        yield from self.run(batch, shared_guard(self.settings))

    @abstractmethod
    def run(self, batch: Sequence[Any], guard: Guard[Any]) -> Iterable[Any]:
        """Return one element for each of the batch, in order."""
        ...


class AtomicAnswers(Stage):
    """Observed -> Answered."""

    def run(
        self, batch: Sequence[Observed | Parked], guard: Guard[Any]
    ) -> Iterable[Answered | Parked]:
        """Answer every document of every snapshot of the batch, but none in quarantine."""

        def answer(items: Sequence[Observed]) -> list[Answered | ModelError]:
            seen = leave_out(self.settings, shared_engine(self.settings), items)
            answers = guard.atomic_answers([observed.snapshot for observed in seen])
            return [
                a if isinstance(a, ModelError) else Answered(o, a)
                for o, a in zip(seen, answers, strict=True)
            ]

        return each_alive(answer, batch, lambda observed: observed.record)


class RelateAnswers(Stage):
    """Answered -> Ready."""

    def run(
        self, batch: Sequence[Answered | Parked], guard: Guard[Any]
    ) -> Iterable[Ready | Parked]:
        """Relate the atomic answers within every snapshot of the batch."""

        def relate(items: Sequence[Answered]) -> list[Ready | ModelError]:
            evidences = guard.relate([(i.observed.snapshot, i.answers) for i in items])
            return [
                e if isinstance(e, ModelError) else Ready(i.observed, e)
                for i, e in zip(items, evidences, strict=True)
            ]

        return each_alive(relate, batch, lambda answered: answered.observed.record)


def each_alive(
    stage: Callable[[Sequence[InT]], Sequence[OutT | ModelError]],
    batch: Sequence[InT | Parked],
    record_of: Callable[[InT], RawRecord],
) -> list[OutT | Parked]:
    """Run a stage on the batch's living elements, in order; failing ones become dead letters."""
    living = [item for item in batch if not isinstance(item, Parked)]
    outcomes = stage(living) if living else []
    results = iter(
        Parked(record_of(item), failed(record_of(item), outcome))
        if isinstance(outcome, ModelError)
        else outcome
        for item, outcome in zip(living, outcomes, strict=True)
    )
    return [item if isinstance(item, Parked) else next(results) for item in batch]
