"""Brokers that die under load."""

import time

import pytest

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.schemas.errors import BrokerError
from tests.brokers import KAFKA, Broker, event, read

BOTH = pytest.mark.parametrize("own_broker", ["noida", KAFKA], indirect=True)


@pytest.fixture
def options(own_broker: Broker) -> KafkaOptions:
    given = own_broker.options()
    ensure_topics(given)
    own_broker.save()
    return given


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
