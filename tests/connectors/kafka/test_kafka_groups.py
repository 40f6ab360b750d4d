"""Workers of one group that come, go and are killed."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.schemas.errors import BrokerError, ConfigurationError
from tests.brokers import Broker, event, read

pytestmark = pytest.mark.parametrize("broker", ["noida", "kafka"], indirect=True)
MEMBER = """
import sys
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.source import KafkaLog
log = KafkaLog(KafkaOptions.model_validate_json(sys.argv[1]), membership="group")
while True:
    log.poll(max_records=9, max_bytes=2**20, timeout_s=0.2)
    if log.partitions():
        print("joined", flush=True)
"""


@pytest.fixture
def published(broker: Broker, prefix: str) -> Iterator[KafkaOptions]:
    options = broker.options(topic_prefix=prefix)
    ensure_topics(options)
    with KafkaSink(options) as sink:
        sink.publish([event(f"k{n}", b"k:%d" % n) for n in range(60)])
    yield options


@contextmanager
def polling(log: KafkaLog) -> Iterator[None]:
    """Poll as a worker does, at short intervals and again after an error, on another thread."""
    stop = threading.Event()

    def poll() -> None:
        while not stop.is_set():
            with suppress(BrokerError):
                log.poll(max_records=100, max_bytes=2**20, timeout_s=0.2)

    worker = threading.Thread(target=poll)
    worker.start()
    try:
        yield
    finally:
        stop.set()
        worker.join()


def test_a_group_shares_the_partitions_and_fences_who_lost_one(published: KafkaOptions) -> None:
    """The first worker has all three partitions, then loses some to the second."""
    with (
        KafkaLog(published, membership="group") as first,
        KafkaLog(published, membership="group") as second,
    ):
        held = read(first, 60)
        assert first.partitions() == {0, 1, 2}
        counts = {p: sum(r.log.partition == p for r in held if r.log) for p in range(3)}
        deadline = time.monotonic() + published.session_timeout_s
        with polling(second):
            while not second.partitions() or first.partitions() & second.partitions():
                assert time.monotonic() < deadline, "the group was not split"
                with suppress(BrokerError):
                    first.poll(max_records=100, max_bytes=2**20, timeout_s=0.2)
        assert first.partitions() | second.partitions() == {0, 1, 2}
        lost = min(second.partitions())
        first.commit({lost: counts[lost]})  # no longer its to commit
    with KafkaLog(published, partitions=(lost,)) as log:
        assert len(read(log, counts[lost])) == counts[lost]


def test_a_named_worker_that_was_killed_has_its_partitions_back_at_once(
    published: KafkaOptions,
) -> None:
    named = published.model_copy(update={"worker": "w-1"})
    arguments = [sys.executable, "-c", MEMBER, named.model_dump_json()]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as killed:
        try:
            assert killed.stdout and killed.stdout.readline() == "joined\n"
        finally:
            killed.kill()
    started = time.monotonic()
    with KafkaLog(named, membership="group") as log:
        read(log, 60)
    assert time.monotonic() - started < published.session_timeout_s / 3


def test_a_named_worker_that_stops_hands_its_partitions_over(published: KafkaOptions) -> None:
    first = KafkaLog(published.model_copy(update={"worker": "w-1"}), membership="group")
    read(first, 60)
    first.close()
    started = time.monotonic()
    with KafkaLog(published.model_copy(update={"worker": "w-2"}), membership="group") as second:
        read(second, 60)
    assert time.monotonic() - started < published.session_timeout_s / 3


def test_of_two_workers_with_one_name_the_older_one_ends(published: KafkaOptions) -> None:
    named = published.model_copy(update={"worker": "w-1"})
    with KafkaLog(named, membership="group") as older, KafkaLog(named, membership="group") as newer:
        held = read(older, 60)
        read(newer, 60)
        with pytest.raises(ConfigurationError, match="another worker has our kafka.worker"):
            older.commit({r.log.partition: r.log.offset + 1 for r in held if r.log})
        assert newer.partitions() == {0, 1, 2}
