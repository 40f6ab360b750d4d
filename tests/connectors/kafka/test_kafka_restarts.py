"""Brokers that die under load."""

import threading
import time
from contextlib import nullcontext

import pytest

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.records import RawRecord
from tests.brokers import KAFKA, Broker, by_key, event, read

EVENTS = 600
RESTARTS = {"noida": 3, "kafka": 1}  # Apache Kafka takes seconds to start
BOTH = pytest.mark.parametrize("own_broker", ["noida", KAFKA], indirect=True)


@pytest.fixture
def options(own_broker: Broker) -> KafkaOptions:
    given = own_broker.options()
    ensure_topics(given)
    own_broker.save()
    return given


def publish_all(options: KafkaOptions, progress: list[int], gate: threading.Lock) -> None:
    """Publish in small calls, each until it succeeds; `progress` grows by one a call."""
    with KafkaSink(options) as sink:
        for start in range(0, EVENTS, 5):
            batch = [event(f"k{n % 5}", b"k%d:%d" % (n % 5, n)) for n in range(start, start + 5)]
            while True:
                try:
                    with gate:
                        sink.publish(batch)
                    break
                except BrokerError:
                    continue
            progress.append(start)


@BOTH
def test_nothing_is_lost_or_disordered_when_the_broker_restarts(own_broker, options, caplog):
    progress: list[int] = []
    gate = threading.Lock()
    writer = threading.Thread(target=publish_all, args=(options, progress, gate))
    writer.start()
    records: list[RawRecord] = []
    wanted = RESTARTS[own_broker.name]
    restarts, deadline = 0, time.monotonic() + 60.0
    reading, commits = dict[int, int](), dict[int, set[int]]()
    with KafkaLog(options) as log:
        while len({record.payload for record in records}) < EVENTS:
            assert time.monotonic() < deadline
            try:
                polled = log.poll(max_records=20, max_bytes=2**20, timeout_s=0.2)
                records += polled
                places = [r.log for r in polled if r.log]
                for place in places:
                    back = place.offset < reading.get(place.partition, 0)
                    # A killed Kafka may tell an older end until it has recovered. Then reading
                    # goes on at the last commit, or at the start if that end is before it.
                    assert not back or place.offset in commits[place.partition]
                    reading[place.partition] = place.offset + 1
                ahead = {place.partition: place.offset + 1 for place in places}
                for partition, offset in ahead.items():  # one that fails may count, too
                    commits.setdefault(partition, {0}).add(offset)
                log.commit(ahead)
                for partition, offset in ahead.items():
                    commits[partition] = {0, offset}
            except BrokerError:
                continue
            if restarts < wanted and len(progress) > (restarts + 1) * EVENTS / 5 / (wanted + 1):
                saves_late = own_broker.name == "noida"  # after it has acknowledged
                with gate if saves_late else nullcontext():
                    own_broker.save()
                    own_broker.kill()
                own_broker.start()
                restarts += 1
    writer.join(30)
    assert not writer.is_alive() and restarts == wanted
    polled_once = len(records) == len({(r.source, r.position) for r in records})
    assert polled_once or "was cut back" in caplog.text
    for found in by_key([record.payload for record in records]).values():
        first_seen = list(dict.fromkeys(found))
        assert first_seen == sorted(first_seen)


@BOTH
def test_a_silent_broker_is_an_error_and_its_return_is_noticed(own_broker, options, monkeypatch):
    monkeypatch.setattr(KafkaLog, "silence_s", 0.3)
    monkeypatch.setattr(KafkaLog, "probe_ms", 300)
    with KafkaLog(options) as log, KafkaSink(options) as sink:
        sink.publish([event("k", b"k:0")])
        read(log, 1)
        own_broker.save()
        own_broker.kill()
        with pytest.raises(BrokerError):
            for _ in range(50):
                log.poll(max_records=1, max_bytes=1, timeout_s=0.1)
        own_broker.start()
        sink.publish([event("k", b"k:1")])
        assert [r.payload for r in read(log, 1, through_errors=True)] == [b"k:1"]


@BOTH
def test_a_sink_that_gave_up_sends_nothing_later(own_broker: Broker) -> None:
    options = own_broker.options(request_timeout_s=1.0, delivery_timeout_s=2.0)
    ensure_topics(options)
    with KafkaSink(options) as sink:
        sink.publish([event("k", b"k:0")])
        own_broker.save()
        own_broker.kill()
        started = time.monotonic()
        with pytest.raises(BrokerError, match="publish"):
            sink.publish([event("k", b"k:1")])
        assert time.monotonic() - started < 10.0
        own_broker.start()
        sink.publish([event("k", b"k:2")])
    with KafkaLog(options) as log:
        assert [record.payload for record in read(log, 2)] == [b"k:0", b"k:2"]
