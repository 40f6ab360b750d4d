"""The step before the fold that asks models, on batches of whole snapshots: their prompts go in one
call, so no shuffle is needed. A snapshot that fails becomes a dead letter; earlier dead letters
pass through.
"""

from collections.abc import Sequence
from typing import Any

import apache_beam as beam

from radarstream.pipelines.beam.coding import Element
from radarstream.pipelines.beam.elements import Parked, Recorded, failed
from radarstream.pipelines.build import shared_pipeline
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Ready
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import SearchSnapshot


class InBatches(beam.PTransform[Any, Any]):
    """Gather the evidence of batches of the configured size; a bundle's last is smaller."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    def expand(self, elements: Any) -> Any:
        """Build the two steps."""
        size = self.settings.batch.snapshots
        batching = beam.BatchElements(min_batch_size=size, max_batch_size=size)
        return (
            elements
            | "Batch" >> batching
            | "Ask" >> beam.ParDo(Gather(self.settings)).with_output_types(Element)
        )


class Gather(beam.DoFn):
    """Gathers the evidence of each batch, with the pipeline that the process shares."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def start_bundle(self) -> None:
        """Look the pipeline up: once a bundle, since settings are compared by all they say."""
        self.pipeline = shared_pipeline(self.settings)

    def process(self, batch: Sequence[Any]) -> Sequence[Any]:
        """Gather one batch."""
        return gathered(self.pipeline, batch)


def gathered(
    pipeline: DefensePipeline[Any], batch: Sequence[Recorded[SearchSnapshot] | Parked]
) -> list[Recorded[Ready] | Parked]:
    """The evidence of the batch's snapshots, in order; failing ones become dead letters."""
    living = [item for item in batch if not isinstance(item, Parked)]
    made = iter(pipeline.gather([item.value for item in living]) if living else ())
    return [
        item if isinstance(item, Parked) else outcome_of(item.record, next(made)) for item in batch
    ]


def outcome_of(record: RawRecord, made: Ready | Failure) -> Recorded[Ready] | Parked:
    """What was gathered of a record; a dead letter where it failed."""
    if isinstance(made, Failure):
        return Parked(record, failed(record, made))
    return Recorded(record, made)
