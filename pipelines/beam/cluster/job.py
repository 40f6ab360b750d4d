"""The job on a cluster: reads partitions of Kafka and publishes events, by a runner of Beam.

    list partitions -> spread -> read -> gather evidence -> fold by query -> publish by lane

Gathering and folding are those of `graph`. Records are ordered at the source, and publishing is a
step. Beam state has nothing of a snapshot: the query's row in the database says what was folded,
also after a return to an older checkpoint.
"""

import logging
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import apache_beam as beam
import grpc  # type: ignore[import-untyped]
from apache_beam.coders import VarIntCoder
from apache_beam.io.flink.flink_streaming_impulse_source import FlinkStreamingImpulseSource
from apache_beam.metrics.metric import Metrics
from apache_beam.options.pipeline_options import PipelineOptions, PortableOptions
from apache_beam.pvalue import PCollection
from apache_beam.runners.runner import PipelineResult
from apache_beam.transforms.userstate import ReadModifyWriteStateSpec
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from radarstream.connectors.kafka.partition_reader import KafkaPartition
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topic_reader import partition_offsets
from radarstream.connectors.state_table.database.groups import note_offsets
from radarstream.connectors.state_table.queries.outbox import Sink, publish_outbox
from radarstream.pipelines.beam import graph
from radarstream.pipelines.beam.cluster.kafka_source import (
    FollowPartitions,
    PartitionRange,
    ReadLimits,
    ReadPartitions,
)
from radarstream.pipelines.beam.cluster.worker_pool import stay_on_loopback
from radarstream.pipelines.beam.folding import Parked, Recorded, lane_of
from radarstream.pipelines.beam.holding import hold_back
from radarstream.pipelines.build import enter_group, shared_engine
from radarstream.pipelines.round.values import Ready
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.job import Submission
from radarstream.schemas.errors import BrokerError, JobFailedError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import RawRecord

METRICS = "radarstream"
# An empty state: runners process a key with state in one worker at a time, in order. So one worker
# folds a query, and one publishes a lane.
OWNER = beam.DoFn.StateParam(ReadModifyWriteStateSpec("owner", VarIntCoder()))
OpenSink = Callable[[], Sink]


class DefendStream(beam.PTransform[PCollection[RawRecord], PCollection[None]]):
    """RawRecords with a place in a log -> state rows and published events; without an output."""

    def __init__(self, settings: Settings, open_sink: OpenSink, *, live: bool = True) -> None:
        super().__init__()
        self.settings = settings
        self.open_sink = open_sink
        self.gather = graph.GatherEvidence(settings, live=live)

    def expand(self, records: PCollection[RawRecord]) -> PCollection[None]:
        """Build the steps."""
        settings = self.settings
        gathered = records | "Gather" >> self.gather
        fold = beam.ParDo(FoldByQuery(settings)).with_output_types(str)
        parked = gathered[graph.DEAD] | "ParkDead" >> beam.ParDo(
            ParkDeadInOrder(settings)
        ).with_output_types(str)
        folded = (
            gathered[graph.READY]
            | "KeyByQuery" >> beam.Map(graph.key_by_query).with_output_types(tuple[str, Any])
            | "Fold" >> fold
        )
        published: PCollection[None] = (
            (folded, parked)
            | "Lanes" >> beam.Flatten()
            | "KeyByLane" >> beam.Map(lambda lane: (lane, None)).with_output_types(tuple[str, None])
            | "Publish" >> beam.ParDo(PublishLanes(settings, self.open_sink))
        )
        return published


class FoldByQuery(graph.FoldQueries):
    """(query id, Ready) -> the outbox lanes with unsent events, as text.

    It folds the snapshots of a bundle by event time, all queries in lockstep; one older than its
    query's row becomes a `late` dead letter. It emits a lane after the commit of its events.
    """

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings, graph.NO_LOG)
        self.waiting = 0
        self.lanes: set[int] = set()

    def start_bundle(self) -> None:
        """Forget what a failed bundle left."""
        super().start_bundle()
        self.waiting, self.lanes = 0, set()

    def process(  # type: ignore[override]
        self,
        keyed: tuple[str, Recorded[Ready]],
        owner: Any = OWNER,  # noqa: ARG002 see OWNER
    ) -> None:
        """Collect one snapshot; fold if the batch is full."""
        query_id, ready = keyed
        self.queries.setdefault(query_id, []).append(ready)
        self.lanes.add(lane_of(ready.record))
        self.waiting += 1
        if self.waiting >= self.settings.job.batch_records:
            self.fold_collected()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        """Fold the rest, then emit the lanes."""
        self.fold_collected()
        yield from at_end_of_window(self.lanes)

    def fold_collected(self) -> None:
        """Fold the collected snapshots."""
        self.waiting = 0
        for outcome in self.fold():
            kind = "answers" if isinstance(outcome, AnswerEvent) else "dead_letters"
            Metrics.counter(METRICS, kind).inc()


class ParkDeadInOrder(graph.ParkDead):
    """Parked -> the outbox lanes with unsent dead letters, after their commit."""

    def process(self, parked: Parked) -> None:  # type: ignore[override]
        """Collect one dead letter."""
        self.collect(parked)
        Metrics.counter(METRICS, "dead_letters").inc()

    def finish_bundle(self) -> Iterator[WindowedValue]:  # type: ignore[override]
        """Write the bundle's dead letters, then emit their lanes."""
        super().finish_bundle()
        yield from at_end_of_window({record.lane for record in self.records})


def at_end_of_window(lanes: set[int]) -> Iterator[WindowedValue]:
    """Emit lanes at the end of a bundle."""
    window = GlobalWindow()
    for lane in sorted(lanes):
        yield WindowedValue(str(lane), window.max_timestamp(), (window,))


class PublishLanes(beam.DoFn):
    """(lane, None) -> no output; publishes every unsent event of a bundle's lanes, at least once.

    If publishing fails, the bundle fails, and its records are read again; so no checkpoint is ahead
    of an unpublished event. `open_sink` is picklable and called once per worker.
    """

    def __init__(self, settings: Settings, open_sink: OpenSink) -> None:
        self.settings = settings
        self.open_sink = open_sink
        self.sink: Sink | None = None
        self.lanes: set[int] = set()

    def setup(self) -> None:
        """Open the sink, once per worker."""
        self.sink = self.open_sink()

    def start_bundle(self) -> None:
        """Forget what a failed bundle left."""
        self.lanes = set()

    def process(
        self,
        keyed: tuple[str, None],
        owner: Any = OWNER,  # noqa: ARG002 see OWNER
    ) -> None:
        """Note a lane to publish."""
        self.lanes.add(int(keyed[0]))

    def finish_bundle(self) -> None:
        """Publish the lanes, and return when all events are durable. Raises BrokerError."""
        lanes, self.lanes = self.lanes, set()
        if lanes and self.sink is not None:
            sent = publish_outbox(shared_engine(self.settings), self.sink, lanes=lanes)
            Metrics.counter(METRICS, "published").inc(sent)

    def teardown(self) -> None:
        """Close the sink."""
        close = getattr(self.sink, "close", None)
        if close is not None:
            close()
        self.sink = None


log = logging.getLogger(__name__)
LISTING_MS = 10_000  # interval at which an endless job lists the partitions
BUNDLE_MS = 100  # longest wait of a step for a bundle; three steps add it to the latency
JOB_SERVER_S = 60  # timeout of the job server
_OWN_ERROR = re.compile(r"schemas\.errors\.\w+: ([^\n]{1,500})")
# The committed offsets of a cluster job are ahead of the fold. It has a group of its own, because
# another kind of worker that starts at them would lose records.
GROUP_SUFFIX = "-cluster"


@dataclass(frozen=True)
class Outside:
    """Opens connections to Kafka on workers; picklable. `until_end` reads to the present ends;
    `start_over` accepts a database without the group's offsets.
    """

    settings: Settings
    until_end: bool = False
    start_over: bool = False

    def partitions(self) -> Iterator[PartitionRange]:
        """Yield the partitions from their first kept record on; none if the broker fails.

        The state table recognises records that were folded before; a checkpoint's offset has
        precedence.
        """
        try:
            listed = partition_offsets(self.settings.kafka)
        except BrokerError as error:
            if self.until_end:
                raise
            log.warning("partitions are not listed: %s", error)
            return
        for partition, offsets in listed.items():
            yield PartitionRange(partition, offsets.first, offsets.end if self.until_end else None)

    def open_reader(self, partition: int) -> KafkaPartition:
        """Open a partition's reader on a worker. Raises ConfigurationError if the database does not
        have the group's offsets.
        """
        group = self.settings.kafka.group + GROUP_SUFFIX
        enter_group(self.settings, group, start_over=self.start_over)
        note = partial(note_offsets, shared_engine(self.settings), group)
        return KafkaPartition(self.settings.kafka, partition, group=group, note=note)

    def open_sink(self) -> Sink:
        """Open the sink of events, on a worker."""
        return KafkaSink(self.settings.kafka)


def arguments(submission: Submission, *, streaming: bool) -> list[str]:
    """Return the arguments of Beam's command line; the later ones are for Flink's job server."""
    external = submission.environment == "EXTERNAL"
    options: dict[str, object] = {
        "runner": "PortableRunner",
        "job_name": submission.job_name,
        "environment_type": submission.environment,
        "parallelism": submission.parallelism,
        "streaming": streaming,
        "environment_config": external and submission.worker_pool,
        "job_endpoint": submission.job_endpoint,
        "job_server_timeout": JOB_SERVER_S,
        "checkpointing_interval": streaming and round(submission.checkpoint_seconds * 1_000),
        "checkpointing_mode": streaming and "EXACTLY_ONCE",
        # Otherwise the output of a bundle stays in a state that no other worker reads.
        "finish_bundle_before_checkpointing": streaming,
        "max_bundle_time_mills": streaming and BUNDLE_MS,
        "externalized_checkpoints_enabled": streaming,
        "retain_externalized_checkpoints_on_cancellation": streaming,
        "savepoint_path": submission.savepoint,
    }
    given = {name: value for name, value in options.items() if value}
    return [f"--{n}" if value is True else f"--{n}={value}" for n, value in given.items()]


def pipeline_options(submission: Submission, *, streaming: bool) -> PipelineOptions:
    """Return Beam's options for a submission."""
    return PipelineOptions(arguments(submission, streaming=streaming))


def build_pipeline(settings: Settings, outside: Outside, options: PipelineOptions) -> beam.Pipeline:
    """Build the graph, without running it."""
    job = settings.job
    limits = ReadLimits(job.batch_records, job.batch_bytes, job.batch_seconds)
    # An impulse that ends moves event time to its end, and runners then drop states.
    start: beam.PTransform[Any, Any] = beam.Impulse()
    read: type[ReadPartitions | FollowPartitions] = ReadPartitions
    if not outside.until_end:
        start = FlinkStreamingImpulseSource().set_interval_ms(LISTING_MS)
        read = FollowPartitions
    pipeline = beam.Pipeline(options=options)
    (
        pipeline
        | "Start" >> start
        | "ListPartitions" >> beam.FlatMap(lambda _: outside.partitions())
        # Otherwise the worker that listed the partitions would read them all.
        | "Spread" >> beam.Reshuffle()
        | "KeyByPartition"
        >> beam.Map(lambda one: (one.partition, one)).with_output_types(tuple[int, PartitionRange])
        | "Read" >> beam.ParDo(read(outside.open_reader, partial(hold_back, settings), limits))
        | "Defend" >> DefendStream(settings, outside.open_sink)
    )
    return pipeline


def submit(pipeline: beam.Pipeline) -> PipelineResult:
    """Submit the pipeline to its runner. Raises JobFailedError if the runner refuses it."""
    stay_on_loopback()
    try:
        return pipeline.run()
    except (RuntimeError, OSError, grpc.RpcError, grpc.FutureTimeoutError) as error:
        endpoint = pipeline.options.view_as(PortableOptions).job_endpoint
        words = " ".join(str(error).split()) or f"nobody answers at {endpoint}"
        raise JobFailedError(f"the runner did not take the job: {words[:300]}") from error


def wait(result: PipelineResult) -> str:
    """Wait for the job's last state. Raises JobFailedError, with our own error of a worker."""
    try:
        return str(result.wait_until_finish())
    except grpc.RpcError as error:
        raise JobFailedError("lost the job server; Flink's pages show what the job does") from error
    except RuntimeError as error:
        own = _OWN_ERROR.findall(str(error))
        why = own[-1].strip() if own else f"{type(error).__name__}; the runner's log says where"
        raise JobFailedError(f"the job failed: {why}") from error
