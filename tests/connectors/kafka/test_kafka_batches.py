"""Batches that would exhaust memory or stop their partition, through real brokers."""

import pytest
import zstandard
from cramjam import snappy
from kafka import TopicPartition
from kafka.record.default_records import DefaultRecordBatchBuilder

from radarstream.connectors.kafka.batches import HEADERS, POLL_BYTES
from radarstream.connectors.kafka.clients import open_consumer, open_producer, patient_poll
from radarstream.connectors.kafka.decompression import CODECS, decompressed
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.partition_reader import KafkaPartition
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import SNAPSHOTS, KafkaLog
from radarstream.connectors.kafka.topic_reader import LATEST_MS, TopicReader
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.records import RawRecord
from tests.brokers import TANSU, Broker, event, read
from tests.hostile_batches import BOMB_BYTES, peak_below, send_batch, send_bomb, zeros, zstd_records

MIB = 2**20
# Apache Kafka takes no batch that it cannot read, and no record of the far future.
CARELESS = pytest.mark.parametrize("broker", ["noida", TANSU], indirect=True)
CODEC_NAMES = {1: "gzip", 2: "snappy", 3: "lz4", 4: "zstd"}


@pytest.fixture
def options(broker: Broker, prefix: str) -> KafkaOptions:
    """Topics of this test's own, of one partition."""
    given = broker.options(topic_prefix=prefix, group=prefix, partitions=1)
    ensure_topics(given)
    return given


def around_bombs(options: KafkaOptions) -> None:
    """Write a record, a bomb of three, a record, and a bomb at the end: offsets 0 to 6."""
    with KafkaSink(options) as sink:
        sink.publish([event("k", b"before")])
        assert send_bomb(options, SNAPSHOTS, records=3) == [1, 2, 3]
        sink.publish([event("k", b"after")])
    assert send_bomb(options, SNAPSHOTS, records=2) == [5, 6]


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_stops_at_the_limit(codec: int) -> None:
    size = 64 * MIB
    bomb = zeros(CODEC_NAMES[codec], size)
    assert decompressed(codec, bomb, size) == bytes(size)
    with peak_below(8 * MIB), pytest.raises(InputError) as caught:
        decompressed(codec, bomb, MIB)
    assert caught.value.reason is ReasonClass.OVERSIZED_RECORD
    for damaged in (b"\x00nothing of the kind", bomb[:20] + b"????" + bomb[40 : len(bomb) // 2]):
        with pytest.raises(InputError) as caught:
            decompressed(codec, damaged, size)
        assert caught.value.reason is ReasonClass.INVALID_ENCODING


def test_the_snappy_stream_of_other_clients_is_read_and_bounded() -> None:
    block = bytes(snappy.compress_raw(bytes(1000)))
    header = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
    stream = header + (len(block).to_bytes(4, "big") + block) * 3
    assert decompressed(2, stream, 3000) == bytes(3000)
    with pytest.raises(InputError, match="more than 2999"):
        decompressed(2, stream, 2999)


def test_a_bomb_is_one_dead_letter_and_the_partition_goes_on(options: KafkaOptions) -> None:
    assert len(zstd_records(3)) < 36_000
    around_bombs(options)
    # The batch, its decompressed pieces and the copy they are joined to.
    with peak_below(3 * options.decompressed_bytes), KafkaLog(options) as log:
        records = read(log, 4)
        assert log.unread() == {0: 0}
    assert [record.position for record in records] == [0, 3, 4, 6]
    assert [record.payload for record in records[::2]] == [b"before", b"after"]
    for record, offsets in zip(records[1::2], ("1 to 3", "5 to 6"), strict=True):
        assert record.reason is ReasonClass.OVERSIZED_RECORD
        assert record.detail.startswith(f"offsets {offsets}: records of more than")
        assert record.source.endswith(f"/{options.topic(SNAPSHOTS)}/0")
        assert record.log.offset == record.position
        assert len(record.payload) < 36_000  # the batch as stored
    # Nothing was committed: the next worker is told the same, then reads on behind the last bomb.
    with KafkaLog(options) as log:
        assert read(log, 4) == records
        log.commit({0: records[-1].position + 1})
    with KafkaLog(options) as log:
        with KafkaSink(options) as sink:
            sink.publish([event("k", b"later")])
        assert [r.payload for r in read(log, 1)] == [b"later"]
        assert log.unread() == {0: 0}


def test_a_cluster_job_reads_over_a_bomb_from_any_offset(options: KafkaOptions) -> None:
    around_bombs(options)

    def polled(start: int, count: int) -> list[RawRecord]:
        reader = KafkaPartition(options, 0, group="bombs-cluster")
        reader.seek(start)
        records: list[RawRecord] = []
        for _ in range(100):
            records += reader.poll(max_records=count, timeout_s=0.1)
            if len(records) >= count and reader.drained():
                break
        assert reader.position() == 7
        reader.close()
        return records

    whole = polled(0, 4)
    assert [record.position for record in whole] == [0, 3, 4, 6]
    assert polled(2, 3) == whole[1:]  # from within a batch: the same letter
    assert polled(6, 1) == whole[3:]


def test_bystanders_are_told_of_a_bomb_and_read_on(options: KafkaOptions) -> None:
    topic = "answers.defended"
    with KafkaSink(options) as sink:
        sink.publish([event("k", b"before", topic)])
        assert send_bomb(options, topic, records=2) == [1, 2]
    with TopicReader(options, [topic], group="bystander") as reader:
        before, bomb = reader.to_the_end()
        reader.commit({0: bomb.offset + 1})
    assert (before.read(), bomb.offset) == (b"before", 2)
    assert bomb.value is not None
    with pytest.raises(InputError, match="offsets 1 to 2: records of more than"):
        bomb.read()
    with TopicReader(options, [topic], group="bystander") as reader:
        assert reader.at_end()


@CARELESS
def test_damaged_batches_are_one_dead_letter_each(broker: Broker, options: KafkaOptions) -> None:
    good = [b"a" * 100, b"b" * 100]
    expected = ["", ""]
    send_batch(options, SNAPSHOTS, None, records=good)
    for stored in (b"no zstd at all", zstandard.compress(b"\x02\x03" * 50)):
        send_batch(options, SNAPSHOTS, stored, records=good)
        expected.append("damaged")
    if broker.name == "tansu":  # the other one looks at the checksum itself
        send_batch(options, SNAPSHOTS, None, records=good, checksum=1)
        expected.append("a wrong checksum, twice")
    many = [("name", b"")] * (HEADERS + 1)
    send_batch(options, SNAPSHOTS, None, records=good[:1], headers=many)
    expected.append("over 256 headers")
    send_batch(options, SNAPSHOTS, None, records=[b"end"])
    expected.append("")
    with KafkaLog(options) as log:
        records = read(log, len(expected))
    for record, said in zip(records, expected, strict=True):
        assert said in record.detail
        assert (record.reason is None) == (said == "")
    assert records[-1].payload == b"end"
    letters = [r.position for r in records if r.reason is ReasonClass.INVALID_ENCODING]
    assert letters == [3, 5, 7][: len(letters)]


def test_what_can_be_read_of_a_damaged_batch_is_read(options: KafkaOptions) -> None:
    builder = DefaultRecordBatchBuilder(2, 0, False, -1, -1, -1, MIB)
    for number, headers in enumerate(([], [], [("h\xe4", b"")])):
        builder.append(number, 0, b"k", b"good %d" % number, headers)
    records = bytes(builder.build())[DefaultRecordBatchBuilder.header_size_in_bytes() :]
    broken = records.replace("h\xe4".encode(), b"h\xff\xff")  # no name in UTF-8
    assert broken != records
    send_batch(options, SNAPSHOTS, zstandard.compress(broken), records=[bytes(100)] * 3)
    with KafkaLog(options) as log:
        first, second, rest = read(log, 3)
    assert (first.payload, second.payload) == (b"good 0", b"good 1")
    assert (rest.position, rest.reason) == (2, ReasonClass.INVALID_ENCODING)
    assert rest.detail.startswith("offset 2: damaged records")


def test_a_poll_holds_few_bytes_however_small_the_batches(options: KafkaOptions) -> None:
    size = 12 * MIB
    for _ in range(6):
        send_batch(options, SNAPSHOTS, None, records=[bytes(size)])
    consumer = open_consumer(options, group=None)
    consumer.assign([TopicPartition(options.topic(SNAPSHOTS), 0)])
    counts: list[int] = []
    while sum(counts) < 6:
        polled = patient_poll(consumer, 5.0)
        counts.append(sum(map(len, polled.values())))
    consumer.close()
    assert max(counts) == -(-POLL_BYTES // size)


def test_a_limit_below_our_own_dead_letters_is_refused() -> None:
    with pytest.raises(ValueError, match="decompressed_bytes must be at least"):
        KafkaOptions(decompressed_bytes=24 * MIB)
    assert KafkaOptions(message_bytes=2 * MIB).decompressed_bytes == 4 * MIB
    assert KafkaOptions().decompressed_bytes < BOMB_BYTES / 20


@CARELESS
def test_a_record_of_any_time_is_read(options: KafkaOptions) -> None:
    producer = open_producer(options)
    producer.send(options.topic(SNAPSHOTS), b"x", b"k", partition=0, timestamp_ms=2**62).get(5)
    producer.close()
    with TopicReader(options, [SNAPSHOTS]) as reader:
        (record,) = reader.to_the_end()
    assert record.timestamp.timestamp() == LATEST_MS / 1000
