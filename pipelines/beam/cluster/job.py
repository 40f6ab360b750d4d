"""The whole job for a cluster: partitions in, published events out, handed to a runner.

list partitions -> spread -> read -> DefendStream
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineResult

from pipelines.beam.cluster.kafka_source import (
    PartitionRange,
    PartitionReader,
    ReadLimits,
    ReadPartitions,
)
from pipelines.beam.cluster.publishing import OpenSink
from pipelines.beam.cluster.stream import DefendStream
from pipelines.settings import Settings

RESTARTED = "the job ended in state {}"


@dataclass(frozen=True)
class Outside:
    """How workers reach what is outside; every field is picklable and called on a worker.

    `partitions` lists what is to be read when the job starts afresh; a job that goes on from a
    checkpoint or savepoint knows that by itself.
    """

    partitions: Callable[[], Iterable[PartitionRange]]
    open_reader: Callable[[int], PartitionReader]
    open_sink: OpenSink


def build_pipeline(
    settings: Settings,
    outside: Outside,
    options: PipelineOptions,
    *,
    idle_s: float = ReadLimits.idle_s,
    model_hints: Mapping[str, str] | None = None,
) -> beam.Pipeline:
    """Put the graph together; nothing runs yet."""
    job = settings.job
    limits = ReadLimits(job.batch_records, job.batch_bytes, job.batch_seconds, idle_s)
    pipeline = beam.Pipeline(options=options)
    (
        pipeline
        | "Start" >> beam.Impulse()
        | "ListPartitions" >> beam.FlatMap(lambda _: outside.partitions())
        # Without it all partitions would be read by the worker that listed them.
        | "Spread" >> beam.Reshuffle()
        | "Read" >> beam.ParDo(ReadPartitions(outside.open_reader, limits))
        | "Defend" >> DefendStream(settings, outside.open_sink, model_hints=model_hints)
    )
    return pipeline


def submit(pipeline: beam.Pipeline) -> PipelineResult:
    """Hand the pipeline to its runner; returns once the runner has taken it."""
    return pipeline.run()
