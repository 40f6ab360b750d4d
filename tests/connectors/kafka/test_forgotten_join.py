"""A group is joined anew, and the client forgets that it was about to."""

import time

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topics import ensure_topics
from tests.brokers import Broker, event, read


def test_a_join_that_ends_between_two_polls_is_not_the_end_of_reading(own_broker: Broker) -> None:
    """kafka-python leaves it unfinished once the change that led to it is taken in.

    It then sent no heartbeat, read nothing and told nobody; a worker stayed ready and idle.
    """
    options: KafkaOptions = own_broker.options(worker="worker-1")
    ensure_topics(options)
    with KafkaLog(options, membership="group") as log, KafkaSink(options) as sink:
        sink.publish([event("k", b"k:0")])
        assert [record.payload for record in read(log, 1)] == [b"k:0"]
        assert log._consumer is not None
        coordinator = log._consumer._coordinator
        coordinator._assignment_snapshot = {}  # the topic had no partitions when it joined
        deadline = time.monotonic() + 20.0
        while coordinator._join_task is None or not coordinator._join_task.is_done:
            assert time.monotonic() < deadline
            if coordinator._join_task is None:
                log._consumer.poll(timeout_ms=0)
            time.sleep(0.01)
        assert not coordinator.need_rejoin() and coordinator.rejoining  # it has forgotten
        sink.publish([event("k", b"k:1")])
        payloads = {record.payload for record in read(log, 1)}
        assert payloads <= {b"k:0", b"k:1"}  # what was not committed may come again
