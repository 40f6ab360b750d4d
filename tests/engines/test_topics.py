"""What Apache Kafka keeps of our topics, and which records it takes."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from radarstream.connectors.kafka.clients import open_admin
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import SNAPSHOTS, KafkaLog
from radarstream.connectors.kafka.topic_reader import TopicReader, partition_offsets
from radarstream.connectors.kafka.topics import COMPACTED, ensure_topics
from radarstream.schemas.errors import ReasonClass, RecordTooLargeError
from tests.brokers import event, read
from tests.clocks import until
from tests.engines.artifacts import missing
from tests.engines.kafka import KafkaNode
from tests.hostile_batches import send_batch
from tests.servers import running

pytestmark = pytest.mark.long

SOON = {
    "log.retention.check.interval.ms": "200", "log.segment.delete.delay.ms": "100",
    "log.cleaner.backoff.ms": "200", "log.cleaner.min.cleanable.ratio": "0.01",
    "log.initial.task.delay.ms": "100",
}  # fmt: skip
MIB = 2**20


@pytest.fixture(scope="module")
def tidying(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaNode]:
    """A node that looks every 0.2 s for what it need not keep."""
    if reason := missing("kafka"):
        pytest.skip(reason)
    with running(KafkaNode(tmp_path_factory.mktemp("tidying"), extra=SOON)) as node:
        yield node


def set_topic(options: KafkaOptions, topic: str, **settings: str) -> None:
    """Change settings of a topic, `_` for `.` in their names."""
    given = {name.replace("_", "."): value for name, value in settings.items()}
    with closing(open_admin(options)) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, options.topic(topic), given)])


def test_of_each_querys_answers_the_last_one_is_kept(tidying: KafkaNode) -> None:
    options = tidying.options(topic_prefix="compacted.", partitions=1)
    ensure_topics(options)
    # The settings of the topic keep older answers for a week; here for no time.
    set_topic(options, COMPACTED, min_compaction_lag_ms="0", segment_ms="100")
    with KafkaSink(options) as sink:
        for step in range(20):
            sink.publish([event(key, b"%d" % step, COMPACTED) for key in ("cup", "france")])
        sink.retract(COMPACTED, "france")

    def kept() -> list[tuple[bytes, bytes | None]]:
        with KafkaSink(options) as sink:  # closes a segment: the last one is never compacted
            sink.publish([event("other", b"x", COMPACTED)])
        with TopicReader(options, [COMPACTED]) as reader:
            found = [(record.key, record.value) for record in reader.to_the_end()]
        return [pair for pair in found if pair[0] != b"other"]

    until(lambda: kept() == [(b"cup", b"19"), (b"france", None)])


def test_snapshots_go_when_their_time_is_over_and_reading_goes_on(tidying: KafkaNode) -> None:
    options = tidying.options(topic_prefix="retained.", group="retained", partitions=1)
    ensure_topics(options)
    with KafkaSink(options) as sink, KafkaLog(options) as log:
        sink.publish([event("k", b"k:%d" % n) for n in range(30)])
        read(log, 10)
        log.commit({0: 10})
    set_topic(options, SNAPSHOTS, retention_ms="100", segment_ms="100")
    with KafkaSink(options) as sink:
        sink.publish([event("k", b"k:30")])  # begins a segment
        until(lambda: partition_offsets(options)[0].first >= 30)
        set_topic(options, SNAPSHOTS, retention_ms="600000")
        sink.publish([event("k", b"k:31")])
    with KafkaLog(options) as log:  # from the commit, which is gone
        assert read(log, 1)[-1].position >= 30
    offsets = partition_offsets(options, group="retained")[0]
    assert offsets.lag == offsets.end - offsets.first  # what is gone cannot be waited for


def test_records_up_to_the_limit_are_taken_and_no_larger_ones(tidying: KafkaNode) -> None:
    options = tidying.options(
        topic_prefix="sized.", partitions=1, message_bytes=MIB, compression="none"
    )
    (topic, *_) = ensure_topics(options)
    limit = int(topic.configs["max.message.bytes"])
    largest = os.urandom(MIB)
    with KafkaSink(options) as sink, KafkaLog(options) as log:
        sink.publish([event("k", largest)])
        (record,) = read(log, 1)
        assert (record.payload, record.reason) == (largest, None)
        sink.publish([event("k", os.urandom(MIB + 1))])  # a topic has room for its dead letter
        (oversized,) = read(log, 1)
        assert oversized.reason is ReasonClass.OVERSIZED_RECORD
        with pytest.raises(RecordTooLargeError, match="radarstream topics describe"):
            sink.publish([event("k", bytes(limit))])
        sink.publish([event("k", b"after")])
        assert read(log, 1)[0].payload == b"after"
    generous = options.model_copy(update={"message_bytes": 4 * MIB, "decompressed_bytes": 16 * MIB})
    with KafkaSink(generous) as sink, pytest.raises(RecordTooLargeError, match="max.message.bytes"):
        sink.publish([event("k", os.urandom(limit))])  # here the broker refuses it


def test_a_damaged_batch_is_not_taken(tidying: KafkaNode) -> None:
    options = tidying.options(topic_prefix="damaged.", partitions=1)
    ensure_topics(options)
    for stored, checksum in ((b"no zstd at all", None), (None, 1)):
        with pytest.raises(KafkaError):
            send_batch(options, SNAPSHOTS, stored, records=[b"a" * 100], checksum=checksum)
    assert partition_offsets(options)[0].end == 0


def test_a_batch_that_the_disk_has_damaged_is_a_dead_letter(tmp_path: Path) -> None:
    """Apache Kafka sends what is stored as it is, so the reader must look at the checksum."""
    if reason := missing("kafka"):
        pytest.skip(reason)
    with running(KafkaNode(tmp_path)) as node:
        options = node.options(partitions=1, compression="none")
        ensure_topics(options)
        with KafkaSink(options) as sink:
            for payload in (b"before", b"damaged", b"after"):
                sink.publish([event("k", payload)])
        node.stop()
        (stored,) = tmp_path.glob(f"data/{SNAPSHOTS}-0/*.log")
        data = stored.read_bytes()
        stored.write_bytes(data.replace(b"damaged", b"DAMAGED"))
        node.start()
        with KafkaLog(options) as log:
            records = read(log, 3, through_errors=True)
    assert [record.payload for record in records[::2]] == [b"before", b"after"]
    assert records[1].reason is ReasonClass.INVALID_ENCODING
    assert "a wrong checksum, twice" in records[1].detail
