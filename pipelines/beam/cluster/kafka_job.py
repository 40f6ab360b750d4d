"""The outside of a job that reads from Kafka and publishes to it."""

from collections.abc import Iterator
from functools import partial

from connectors.kafka.options import KafkaOptions
from connectors.kafka.partition_reader import KafkaPartition, partition_offsets
from connectors.kafka.sink import KafkaSink
from pipelines.beam.cluster.job import Outside
from pipelines.beam.cluster.kafka_source import PartitionRange
from pipelines.settings import Settings

# The offsets of a cluster job run ahead of what is folded. In a group of its own they can never
# become the start of a worker of another topology, which would lose what lies between.
GROUP_SUFFIX = "-cluster"


def kafka_outside(options: KafkaOptions, *, until_end: bool = False) -> Outside:
    """Return how workers reach Kafka; `until_end` reads up to the end the partitions have now."""
    return Outside(
        partitions=partial(ranges, options, until_end=until_end),
        open_reader=partial(open_partition, options),
        open_sink=open_kafka_sink,
    )


def ranges(options: KafkaOptions, *, until_end: bool) -> Iterator[PartitionRange]:
    """List the partitions from their first kept record on.

    A job that starts afresh reads everything again: what was folded is recognised by the state
    table, and its model answers come from the response cache.
    """
    for partition, (first, end) in partition_offsets(options).items():
        yield PartitionRange(partition, first, end if until_end else None)


def open_partition(options: KafkaOptions, partition: int) -> KafkaPartition:
    """Open a partition's reader."""
    return KafkaPartition(options, partition, group=options.group + GROUP_SUFFIX)


def open_kafka_sink(settings: Settings) -> KafkaSink:
    """Open the sink of events."""
    return KafkaSink(settings.kafka)
