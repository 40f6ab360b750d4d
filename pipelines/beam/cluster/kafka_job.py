"""The outside of a job that reads from Kafka and publishes to it."""

from collections.abc import Iterator
from functools import partial

from radarstream.connectors.kafka.offsets import partition_offsets
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.partition_reader import KafkaPartition
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.pipelines.beam.cluster.job import Outside
from radarstream.pipelines.beam.cluster.kafka_source import PartitionRange
from radarstream.pipelines.build import enter_group
from radarstream.pipelines.settings import Settings

# The offsets of a cluster job run ahead of what is folded. In a group of its own they can never
# become the start of a worker of another topology, which would lose what lies between.
GROUP_SUFFIX = "-cluster"


def kafka_outside(
    settings: Settings, *, until_end: bool = False, start_over: bool = False
) -> Outside:
    """Return how workers reach Kafka; `until_end` reads up to the end the partitions have now.

    `start_over` accepts an empty database though this job's group has committed.
    """
    return Outside(
        partitions=partial(ranges, settings.kafka, until_end=until_end),
        open_reader=partial(open_partition, settings, start_over=start_over),
        open_sink=open_kafka_sink,
    )


def ranges(options: KafkaOptions, *, until_end: bool) -> Iterator[PartitionRange]:
    """List the partitions from their first kept record on.

    A job that starts afresh reads everything again: what was folded is recognised by the state
    table, and its model answers come from the response cache.
    """
    for partition, offsets in partition_offsets(options).items():
        yield PartitionRange(partition, offsets.first, offsets.end if until_end else None)


def open_partition(settings: Settings, partition: int, *, start_over: bool) -> KafkaPartition:
    """Open a partition's reader, on a worker: only there the database is sure to be in reach.

    Raises ConfigurationError where the database is empty though the group has committed: whether
    the job starts afresh or goes on from a savepoint, what it remembered is in another one.
    """
    group = settings.kafka.group + GROUP_SUFFIX
    enter_group(settings, group, start_over=start_over)
    return KafkaPartition(settings.kafka, partition, group=group)


def open_kafka_sink(settings: Settings) -> KafkaSink:
    """Open the sink of events."""
    return KafkaSink(settings.kafka)
