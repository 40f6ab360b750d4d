"""The step before the fold that asks models, on batches of whole snapshots: their prompts go in one
call, so no shuffle is needed. A snapshot that fails becomes a dead letter; earlier dead letters
pass through.
"""

import pickle
from collections.abc import Sequence
from functools import partial
from typing import Any

import apache_beam as beam
from apache_beam.coders import coder_impl
from apache_beam.coders.coders import FastCoder
from apache_beam.coders.typecoders import registry

from radarstream.pipelines.beam.elements import Parked, Recorded, failed
from radarstream.pipelines.build import shared_pipeline
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Ready
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import SearchSnapshot


class Element:
    """The type of what flows between steps, as the graph declares it to Beam."""


class ElementCoder(FastCoder):
    """Pickles elements without telling sizes, for which Beam's own coder pickles many of them."""

    encoder = staticmethod(partial(pickle.dumps, protocol=pickle.HIGHEST_PROTOCOL))

    def _create_impl(self) -> coder_impl.CoderImpl:
        return coder_impl.CallbackCoderImpl(self.encoder, pickle.loads, size_estimator=lambda _: 0)

    def is_deterministic(self) -> bool:
        """Elements are no keys."""
        return False


registry.register_coder(Element, ElementCoder)


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
