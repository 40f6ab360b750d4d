"""The whole job for a cluster: partitions in, published events out, handed to a runner.

list partitions -> spread -> read -> DefendStream
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import apache_beam as beam
import grpc  # type: ignore[import-untyped]
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineResult

from radarstream.pipelines.beam.cluster.kafka_source import (
    PartitionRange,
    PartitionReader,
    ReadLimits,
    ReadPartitions,
)
from radarstream.pipelines.beam.cluster.publishing import OpenSink
from radarstream.pipelines.beam.cluster.stream import DefendStream
from radarstream.pipelines.beam.cluster.worker_pool import stay_on_loopback
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import JobFailedError

_OWN_ERROR = re.compile(r"schemas\.errors\.\w+: ([^\n]{1,500})")


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
    idle_s: float = 5.0,
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
    """Hand the pipeline to its runner; returns once the runner has taken it.

    Raises JobFailedError: no job server, no jar, no Java, or a runner that refuses the graph.
    """
    stay_on_loopback()
    try:
        return pipeline.run()
    except (RuntimeError, OSError, grpc.RpcError, grpc.FutureTimeoutError) as error:
        words = " ".join(str(error).split()) or "no answer"
        raise JobFailedError(f"the runner did not take the job: {words[:300]}") from error


def wait(result: PipelineResult) -> str:
    """Wait until the job ends and return its last state. Raises JobFailedError.

    What a worker said is repeated only where it is an error of ours: another library's may quote
    what it was given.
    """
    try:
        return str(result.wait_until_finish())
    except (RuntimeError, grpc.RpcError) as error:
        own = _OWN_ERROR.findall(str(error))
        reason = own[-1].strip() if own else f"{type(error).__name__}; the runner's log says where"
        raise JobFailedError(f"the job failed: {reason}") from error
