"""What a broker tells about a topic's offsets and a group's commits."""

import pytest

from radarstream.connectors.kafka.offsets import OffsetReader, Offsets, partition_offsets
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.schemas.errors import BrokerError
from tests.brokers import Broker, event, read
from tests.servers import free_port


@pytest.mark.parametrize(
    ("offsets", "lag"),
    [
        (Offsets(0, 20, 5), 15),
        (Offsets(0, 20), 20),  # nothing committed: all that is kept
        (Offsets(12, 20), 8),
        (Offsets(12, 20, 5), 8),  # what was deleted meanwhile cannot be read any more
        (Offsets(0, 3, 20), 0),  # the log was created anew
    ],
)
def test_lag_is_from_the_commit_to_the_end(offsets: Offsets, lag: int) -> None:
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


def test_nobody_there_is_a_broker_error(own_broker: Broker) -> None:
    gone = own_broker.options().model_copy(
        update={"bootstrap": f"127.0.0.1:{free_port()}", "request_timeout_s": 1.0}
    )
    with pytest.raises(BrokerError, match="cannot reach Kafka"):
        partition_offsets(gone)
