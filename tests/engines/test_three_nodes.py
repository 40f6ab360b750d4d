"""Three Kafka nodes that replicate: leaders are killed under load, and nothing is lost."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.records import RawRecord
from tests.brokers import by_key, event
from tests.chaos.grounds import in_sync, leaders
from tests.clocks import until
from tests.engines.artifacts import missing
from tests.engines.kafka import KafkaCluster
from tests.servers import LOOPBACK, listening, running

pytestmark = pytest.mark.long

EVENTS, CALL = 900, 5
KILLS = 2
DURABLE = {"min.insync.replicas": "2"}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[KafkaCluster]:
    if reason := missing("kafka"):
        pytest.skip(reason)
    with running(KafkaCluster(tmp_path, extra=DURABLE)) as nodes:
        yield nodes


class Writer(threading.Thread):
    """Publishes numbered events in small calls, each until it succeeds."""

    def __init__(self, options: KafkaOptions) -> None:
        super().__init__()
        self.options = options
        self.calls: Counter[int] = Counter()  # attempts of a call, by its first number
        self.acknowledged = 0

    def run(self) -> None:
        with KafkaSink(self.options) as sink:
            for start in range(0, EVENTS, CALL):
                batch = [event(f"k{n % 7}", b"k%d:%d" % (n % 7, n)) for n in
                         range(start, start + CALL)]  # fmt: skip
                while True:
                    self.calls[start] += 1
                    try:
                        sink.publish(batch)
                        break
                    except BrokerError:
                        continue
                self.acknowledged = start + CALL


def test_killed_leaders_lose_and_disorder_nothing(cluster: KafkaCluster) -> None:
    options = cluster.options()
    topics = ensure_topics(options)
    assert {topic.replication for topic in topics} == {3}
    for node in cluster.nodes.values():
        assert node.process is not None and listening(node.process.pid) <= LOOPBACK
    writer = Writer(options)
    writer.start()
    records: list[RawRecord] = []
    killed: list[int] = []
    deadline = time.monotonic() + 120.0
    with KafkaLog(options) as log:
        while len({record.payload for record in records}) < EVENTS:
            assert time.monotonic() < deadline, (writer.acknowledged, killed, len(records))
            try:
                polled = log.poll(max_records=50, max_bytes=2**20, timeout_s=0.2)
                records += polled
                log.commit({r.log.partition: r.log.offset + 1 for r in polled if r.log})
            except BrokerError:
                continue
            if len(killed) < KILLS and writer.acknowledged > (len(killed) + 1) * EVENTS / 4:
                if killed:
                    cluster.nodes[killed[-1]].start()  # two of three must be there
                    until(lambda: in_sync(options, len(cluster.nodes)))
                number = leaders(options)[len(killed)]
                cluster.nodes[number].kill()
                killed.append(number)
    writer.join(30)
    assert not writer.is_alive() and len(killed) == KILLS
    copies = Counter(int(record.payload.split(b":")[1]) for record in records)
    assert set(copies) == set(range(EVENTS))
    assert all(copies[n] <= writer.calls[n - n % CALL] for n in copies)  # at least once, no more
    for numbers in by_key([record.payload for record in records]).values():
        first_seen = list(dict.fromkeys(numbers))
        assert first_seen == sorted(first_seen)
