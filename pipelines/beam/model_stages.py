"""The two steps before the fold that ask models, each on a batch of whole snapshots.

The prompts of all snapshots of a batch go to the models in one call, so no shuffle is needed. A
snapshot whose model calls fail comes out as a dead letter and the others of its batch go on; dead
letters of earlier steps pass through.
"""

from collections.abc import Callable, Sequence
from typing import Any

import apache_beam as beam

from radarstream.pipelines.beam.coding import Element
from radarstream.pipelines.beam.elements import Parked, Recorded, failed
from radarstream.pipelines.build import shared_pipeline
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.schemas.records import RawRecord

# A part of the round: one outcome for each item of a batch, in order.
Part = Callable[[DefensePipeline[Any], Sequence[Any]], Sequence[Any]]


class InBatches(beam.PTransform[Any, Any]):
    """Apply a part of the round to batches of the configured size; the last ones of a bundle are
    smaller.
    """

    def __init__(self, part: Part, settings: Settings) -> None:
        super().__init__()
        self.part = part
        self.settings = settings

    def expand(self, elements: Any) -> Any:
        """Build the two steps."""
        size = self.settings.batch.snapshots
        batching = beam.BatchElements(min_batch_size=size, max_batch_size=size)
        return (
            elements
            | "Batch" >> batching
            | "Ask" >> beam.ParDo(Ask(self.part, self.settings)).with_output_types(Element)
        )


class Ask(beam.DoFn):
    """Runs a part of the round on each batch, with the pipeline that the process shares."""

    def __init__(self, part: Part, settings: Settings) -> None:
        self.part = part
        self.settings = settings

    def start_bundle(self) -> None:
        """Look the pipeline up: once a bundle, since settings are compared by all they say."""
        self.pipeline = shared_pipeline(self.settings)

    def process(self, batch: Sequence[Any]) -> Sequence[Any]:
        """Run the part on one batch."""
        return each_alive(self.part, self.pipeline, batch)


def each_alive(
    part: Part, pipeline: DefensePipeline[Any], batch: Sequence[Recorded[Any] | Parked]
) -> list[Recorded[Any] | Parked]:
    """Work on the batch's living elements, in order; failing ones become dead letters."""
    living = [item for item in batch if not isinstance(item, Parked)]
    made = iter(part(pipeline, [item.value for item in living]) if living else ())
    return [
        item if isinstance(item, Parked) else outcome_of(item.record, next(made)) for item in batch
    ]


def outcome_of(record: RawRecord, made: Any) -> Recorded[Any] | Parked:
    """What a part made of a record; a dead letter where it failed."""
    if isinstance(made, Failure):
        return Parked(record, failed(record, made))
    return Recorded(record, made)
