"""The two steps before the fold that ask models, each on a batch of whole snapshots.

The prompts of all snapshots of a batch go to the models in one call, so no shuffle is needed. A
snapshot whose model calls fail comes out as a dead letter and the others of its batch go on; dead
letters of earlier steps pass through.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import apache_beam as beam

from radarstream.pipelines.beam.coding import Element
from radarstream.pipelines.beam.elements import Answered, Parked, Ready, failed
from radarstream.pipelines.build import shared_engine, shared_pipeline
from radarstream.pipelines.guard import DefensePipeline
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.stages import Failure
from radarstream.pipelines.withholding import Observed, choose
from radarstream.schemas.errors import ModelError

ItemT = TypeVar("ItemT", Observed, Answered)
OutT = TypeVar("OutT", Answered, Ready)
# Returns one element for each of the batch, in order.
Stage = Callable[[Settings, DefensePipeline[Any], Sequence[Any]], Sequence[Any]]


class InBatches(beam.PTransform[Any, Any]):
    """Apply a stage to batches of the configured size; the last ones of a bundle are smaller."""

    def __init__(self, stage: Stage, settings: Settings) -> None:
        super().__init__()
        self.stage = stage
        self.settings = settings

    def expand(self, elements: Any) -> Any:
        """Build the two steps."""
        size = self.settings.batch.snapshots
        batching = beam.BatchElements(min_batch_size=size, max_batch_size=size)
        return (
            elements
            | "Batch" >> batching
            | "Ask" >> beam.ParDo(Ask(self.stage, self.settings)).with_output_types(Element)
        )


class Ask(beam.DoFn):
    """Runs a stage on each batch, with the guard that the process shares."""

    def __init__(self, stage: Stage, settings: Settings) -> None:
        self.stage = stage
        self.settings = settings

    def start_bundle(self) -> None:
        """Look the guard up: once a bundle, since settings are compared by all they say."""
        self.guard = shared_pipeline(self.settings)

    def process(self, batch: Sequence[Any]) -> Sequence[Any]:
        """Run the stage on one batch."""
        return self.stage(self.settings, self.guard, batch)


def answer_each(
    settings: Settings, guard: DefensePipeline[Any], batch: Sequence[Observed | Parked]
) -> list[Answered | Parked]:
    """Choose the documents that the defence sees; read and answer every one of them."""

    def answer(items: Sequence[Observed]) -> list[Answered | Failure]:
        chosen = choose(settings, shared_engine(settings), guard, items)
        seen = [outcome for outcome in chosen if isinstance(outcome, Observed)]
        gathered = guard.atomic_answers([observed.snapshot for observed in seen])
        answers = (g.failure or Answered(o, g) for o, g in zip(seen, gathered, strict=True))
        return [next(answers) if isinstance(found, Observed) else found for found in chosen]

    return each_alive(answer, batch)


def relate_each(
    _: Settings, guard: DefensePipeline[Any], batch: Sequence[Answered | Parked]
) -> list[Ready | Parked]:
    """Relate the atomic answers within every snapshot of the batch."""

    def relate(items: Sequence[Answered]) -> list[Ready | ModelError]:
        evidences = guard.relate([item.gathered for item in items])
        return [
            e if isinstance(e, ModelError) else Ready(i.observed, e)
            for i, e in zip(items, evidences, strict=True)
        ]

    return each_alive(relate, batch)


def each_alive(
    work: Callable[[Sequence[ItemT]], Sequence[OutT | Failure]], batch: Sequence[ItemT | Parked]
) -> list[OutT | Parked]:
    """Work on the batch's living elements, in order; failing ones become dead letters."""
    living = [item for item in batch if not isinstance(item, Parked)]
    results = iter(
        Parked(item.record, failed(item.record, outcome))
        if isinstance(outcome, Failure)
        else outcome
        for item, outcome in zip(living, work(living) if living else (), strict=True)
    )
    return [item if isinstance(item, Parked) else next(results) for item in batch]
