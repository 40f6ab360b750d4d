"""The log of snapshots and the sink of events, against every broker."""

import gc
import logging
import os
import threading
from pathlib import Path

import pytest
from kafka import KafkaAdminClient
from kafka.errors import KafkaError

from radarstream.connectors.kafka.clients import open_producer
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topic_reader import (
    OffsetReader,
    Offsets,
    TopicReader,
    partition_offsets,
)
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.errors import BrokerError, ConfigurationError, ReasonClass
from radarstream.schemas.records import LogPosition
from tests.brokers import Broker, by_key, event, read
from tests.servers import free_port
from tests.wire_samples import ANSWER, SNAPSHOT

TOPIC = "search.snapshots"
NUMBERED = [event(f"k{n % 5}", b"k%d:%d" % (n % 5, n)) for n in range(200)]


@pytest.fixture
def options(broker: Broker, prefix: str) -> KafkaOptions:
    """Topics of this test's own."""
    given = broker.options(topic_prefix=prefix, group=prefix)
    ensure_topics(given)
    return given


def test_keys_keep_their_order_and_records_know_their_place(options: KafkaOptions) -> None:
    with KafkaSink(options) as sink, KafkaLog(options) as log:
        sink.publish(NUMBERED)
        records = read(log, 200)
        assert not log.poll(max_records=10, max_bytes=2**20, timeout_s=0.1)
        assert log.unread() == {0: 0, 1: 0, 2: 0}
        assert log.partitions() == {0, 1, 2}
    numbers = by_key([record.payload for record in records])
    assert set(numbers) == {b"k0", b"k1", b"k2", b"k3", b"k4"}
    assert all(found == sorted(found) and len(found) == 40 for found in numbers.values())
    for record in records:
        assert record.log is not None
        epoch, topic, partition = record.source.split("/")
        assert record.log == LogPosition(epoch, int(partition), record.position)
        assert epoch and topic == options.topic(TOPIC)
        assert (record.reason, record.attempts) == (None, 1)
    for partition in (0, 1, 2):
        offsets = [r.position for r in records if r.log and r.log.partition == partition]
        assert offsets == list(range(len(offsets)))


def test_a_poll_stops_at_its_limits(options: KafkaOptions) -> None:
    with KafkaSink(options) as sink, KafkaLog(options) as log:
        sink.publish([event("k", bytes(1000)) for _ in range(300)])
        assert len(read(log, 7)) == 7
        polled = log.poll(max_records=300, max_bytes=10_500, timeout_s=5.0)
        assert len(polled) == 11  # one record more than fits
        assert log.unread()[polled[0].log.partition] == 300 - 18
        assert [record.position for record in polled] == list(range(7, 18))
        assert len(read(log, 282)) == 282


@pytest.mark.parametrize(("told_end", "read_on_at"), [(3, 2), (1, 0)])
def test_a_partition_that_was_cut_back_is_read_on_from_the_commit(
    options: KafkaOptions, monkeypatch: pytest.MonkeyPatch, told_end: int, read_on_at: int
) -> None:
    with KafkaSink(options) as sink:
        sink.publish([event("k", b"k:%d" % n) for n in range(5)])
    with KafkaLog(options) as log:
        partition = read(log, 5)[0].log.partition
        log.commit({partition: 2})
        with monkeypatch.context() as patched:
            patched.setattr(KafkaLog, "_end", lambda *_: float(told_end))
            with pytest.raises(BrokerError, match="has changed"):
                log.poll(max_records=1, max_bytes=1, timeout_s=0.1)
        again = read(log, 5 - read_on_at)
    assert [record.position for record in again] == list(range(read_on_at, 5))


def test_an_event_travels_with_its_envelope_in_headers(options: KafkaOptions) -> None:
    record = outbox_record(ANSWER)
    with KafkaSink(options) as sink:
        sink.publish([record])
        sink.retract("answers.defended", "cup")
    with TopicReader(options, ["answers.defended"]) as reader:
        answer, tombstone = reader.to_the_end()
    assert answer.key == tombstone.key == b"cup"
    assert (answer.value, tombstone.value) == (record.data, None)
    assert answer.headers["ce_id"] == b"cup/4"
    assert answer.headers["ce_time"].startswith(b"2025-06-01T12:00:00.25")
    assert answer.headers["content-type"] == b"application/json"
    assert answer.timestamp.year > 2025  # written now: retention goes by this, not by event time


def test_unusable_records_arrive_with_a_reason(options: KafkaOptions) -> None:
    small = options.model_copy(update={"message_bytes": 1000})
    with KafkaSink(options) as sink:
        sink.retract(TOPIC, "k")
        sink.publish([event("k", b"x" * 1001), event("k", b"y" * 1000)])
    with KafkaLog(small) as log:
        tombstone, oversized, largest = read(log, 3)
    assert (tombstone.reason, tombstone.payload) == (ReasonClass.MALFORMED_JSON, b"")
    assert tombstone.detail == "a record without a value"
    assert (oversized.reason, len(oversized.payload)) == (ReasonClass.OVERSIZED_RECORD, 1000)
    assert (largest.reason, largest.payload) == (None, b"y" * 1000)


def test_attempts_come_from_the_header(options: KafkaOptions) -> None:
    producer = open_producer(options)
    for value in (b"3", b"0", b"-1", b"x", b"9" * 5000, b"\xb2", b""):
        headers = [("radarstream-attempts", value)]
        producer.send(options.topic(TOPIC), b"{}", b"k", headers=headers).get(5)
    producer.close()
    with KafkaLog(options) as log:
        assert [record.attempts for record in read(log, 7)] == [3, 1, 1, 1, 1, 1, 1]


def test_a_record_larger_than_a_fetch_arrives(options: KafkaOptions) -> None:
    large = os.urandom(3 * 2**20)
    with KafkaSink(options) as sink, KafkaLog(options) as log:
        sink.publish([event("k", b"before"), event("k", large), event("k", b"after")])
        assert [record.payload for record in read(log, 3)] == [b"before", large, b"after"]


def test_a_record_too_large_to_write_is_a_matter_of_settings(options: KafkaOptions) -> None:
    small = options.model_copy(update={"message_bytes": 2**20})
    with KafkaSink(small) as sink:
        with pytest.raises(ConfigurationError, match=f"{2 * 2**20} bytes .*{TOPIC}"):
            sink.publish([event("k", bytes(2 * 2**20))])
        sink.publish([event("k", b"small")])  # and nothing is stuck behind it
    with KafkaLog(options) as log:
        assert read(log, 1)[0].payload == b"small"


def test_every_compression_is_read_back(options: KafkaOptions) -> None:
    with KafkaLog(options) as log:
        for compression in ("none", "gzip", "zstd", "lz4"):
            given = options.model_copy(update={"compression": compression})
            with KafkaSink(given) as sink:
                sink.publish([outbox_record(SNAPSHOT)] * 20)
            assert {record.payload for record in read(log, 20)} == {outbox_record(SNAPSHOT).data}


def test_two_workers_split_the_partitions(options: KafkaOptions) -> None:
    with KafkaSink(options) as sink:
        sink.publish([event(f"k{n}", b"k:%d" % n) for n in range(60)])
    with (
        KafkaLog(options, partitions=(0,)) as one,
        KafkaLog(options, partitions=(1, 2)) as two,
        KafkaLog(options) as everything,
    ):
        count = sum(r.log.partition == 0 for r in read(everything, 60))
        assert 0 < count < 60
        first, second = read(one, count), read(two, 60 - count)
        assert one.partitions() == {0}
        one.commit({0: count, 1: 1})  # what it does not hold is not its to commit
    assert {record.log.partition for record in first} == {0}
    assert {record.log.partition for record in second} == {1, 2}
    with KafkaLog(options) as log:
        assert len(read(log, 60 - count)) == 60 - count


def test_a_topic_and_a_partition_that_do_not_exist_are_named(broker: Broker, prefix: str) -> None:
    options = broker.options(topic_prefix=prefix)
    with KafkaLog(options) as log, pytest.raises(BrokerError, match=prefix + TOPIC):
        log.poll(max_records=1, max_bytes=1, timeout_s=0.1)
    ensure_topics(options)
    with KafkaLog(options, partitions=(1, 7)) as log, pytest.raises(ConfigurationError, match="7"):
        log.poll(max_records=1, max_bytes=1, timeout_s=0.1)


def test_new_partitions_are_read_without_a_restart(options: KafkaOptions) -> None:
    with KafkaLog(options) as log:
        assert not log.poll(max_records=1, max_bytes=1, timeout_s=0.1)
        admin = KafkaAdminClient(bootstrap_servers=options.bootstrap)
        try:
            admin.create_partitions({options.topic(TOPIC): 5})
        except KafkaError as error:
            pytest.skip(f"this broker does not add partitions: {type(error).__name__}")
        finally:
            admin.close()
        log.close()  # what the next refresh of its metadata would lead to
        log.poll(max_records=1, max_bytes=1, timeout_s=0.5)
        assert log.partitions() == {0, 1, 2, 3, 4}


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_nobody_there_is_an_error_in_bounded_time_that_leaves_nothing_behind() -> None:
    options = KafkaOptions(
        bootstrap=f"127.0.0.1:{free_port()}", request_timeout_s=1.0, delivery_timeout_s=2.0
    )
    log, sink = KafkaLog(options), KafkaSink(options)
    with pytest.raises(BrokerError, match="cannot reach Kafka"):
        log.poll(max_records=1, max_bytes=1, timeout_s=0.1)
    gc.collect()
    threads, files = threading.active_count(), open_files()
    with pytest.raises(BrokerError, match="cannot reach Kafka"):
        sink.publish([event("k", b"")])
    with pytest.raises(BrokerError, match="cannot reach Kafka"):
        log.commit({0: 1})
    gc.collect()
    assert threading.active_count() <= threads
    assert open_files() <= files


def test_a_topic_created_anew_is_read_from_its_start(options, caplog):
    caplog.set_level(logging.WARNING)
    with KafkaLog(options, partitions=(0,)) as log:
        producer = open_producer(options)
        for n in range(20):
            producer.send(options.topic(TOPIC), b"old:%d" % n, partition=0)
        producer.flush()
        old = read(log, 20)
        log.commit({0: 20})
        admin = KafkaAdminClient(bootstrap_servers=options.bootstrap)
        admin.delete_topics([options.topic(TOPIC)])
        admin.close()
        ensure_topics(options)
        producer.close()
        producer = open_producer(options)
        producer.send(options.topic(TOPIC), b"new", partition=0).get(5)
        producer.close()
        (new,) = read(log, 1, through_errors=True)
        assert (new.payload, new.position) == (b"new", 0)
        log.commit({0: 20})  # from before: not taken
    assert options.topic(TOPIC) in caplog.text
    assert old[0].payload == b"old:0"


# --- what a broker tells of offsets and commits ---------------------------------------------------


def test_lag_is_from_the_commit_to_the_end() -> None:
    for offsets, lag in [
        (Offsets(0, 20, 5), 15),
        (Offsets(0, 20), 20),  # nothing committed: all that is kept
        (Offsets(12, 20), 8),
        (Offsets(12, 20, 5), 8),  # what was deleted meanwhile cannot be read any more
        (Offsets(0, 3, 20), 0),  # the log was created anew
    ]:
        assert offsets.lag == lag


def test_ends_and_commits_are_seen_while_somebody_else_reads(broker: Broker, prefix: str) -> None:
    options = broker.options(topic_prefix=prefix, group=prefix, partitions=1)
    ensure_topics(options)
    with KafkaSink(options) as sink, OffsetReader(options, group=prefix) as offsets:
        assert offsets.read() == {0: Offsets(0, 0)}
        for n in range(20):  # one by one: a test broker tells too little of a batch
            sink.publish([event("k", b"k:%d" % n)])
        assert offsets.read() == {0: Offsets(0, 20)}
        with KafkaLog(options) as log:
            read(log, 5)
            log.commit({0: 5})
        assert offsets.read() == {0: Offsets(0, 20, 5)}
    assert partition_offsets(options) == {0: Offsets(0, 20)}  # of no group


def test_a_broker_that_went_away_is_asked_again(own_broker: Broker) -> None:
    options = own_broker.options(partitions=1, request_timeout_s=1.0)
    ensure_topics(options)
    with OffsetReader(options, group="g") as offsets:
        assert offsets.read() == {0: Offsets(0, 0)}
        own_broker.save()
        own_broker.kill()
        with pytest.raises(BrokerError):
            offsets.read()
        own_broker.start()
        ensure_topics(options)
        assert offsets.read() == {0: Offsets(0, 0)}
