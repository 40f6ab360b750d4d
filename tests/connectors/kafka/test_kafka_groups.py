"""Workers of one group that come, go and are killed."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from unittest.mock import MagicMock

import pytest
from kafka.errors import KafkaTimeoutError

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.schemas.errors import BrokerError, ConfigurationError
from tests.brokers import KAFKA, Broker, event, read

LASTING = pytest.mark.parametrize("broker", ["noida", KAFKA], indirect=True)
MEMBER = """
import sys
from radarstream.connectors.kafka.topic_reader import partition_offsets
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


@pytest.mark.parametrize("broker", [KAFKA], indirect=True)  # Noida does not always split a group
def test_a_group_shares_the_partitions_and_fences_who_lost_one(published: KafkaOptions) -> None:
    """The first worker has all three partitions, then loses some to the second, which leaves.

    What was not committed is read again, also in the partitions that the worker keeps, where the
    client would go on behind it.
    """
    with KafkaLog(published, membership="group") as first:
        held = read(first, 60)
        everything = {record.payload for record in held}
        assert first.partitions() == {0, 1, 2}
        deadline = time.monotonic() + 4 * published.session_timeout_s
        again: set[bytes] = set()

        def poll(missing: object) -> None:
            assert time.monotonic() < deadline, missing
            with suppress(BrokerError):
                batch = first.poll(max_records=100, max_bytes=2**20, timeout_s=0.2)
                again.update(record.payload for record in batch)

        with KafkaLog(published, membership="group") as second, polling(second):
            while not second.partitions() or first.partitions() & second.partitions():
                poll("the group was not split")
            assert first.partitions() | second.partitions() == {0, 1, 2}
            lost = min(second.partitions())
            count = sum(r.log.partition == lost for r in held if r.log)
            first.commit({lost: count})  # no longer its to commit
        while again != everything:
            poll(sorted(everything - again))
    with KafkaLog(published, partitions=(lost,)) as log:
        assert len(read(log, count)) == count


def kill_a_member(options: KafkaOptions) -> None:
    """Let a worker join the group in a process of its own, and kill it."""
    arguments = [sys.executable, "-c", MEMBER, options.model_dump_json()]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as member:
        try:
            assert member.stdout and member.stdout.readline() == "joined\n"
        finally:
            member.kill()


@LASTING
def test_a_named_worker_that_was_killed_has_its_partitions_back_at_once(published):
    named = published.model_copy(update={"worker": "w-1"})
    kill_a_member(named)
    started = time.monotonic()
    with KafkaLog(named, membership="group") as log:
        read(log, 60)
    assert time.monotonic() - started < published.session_timeout_s / 3


@LASTING
@pytest.mark.parametrize("fails", [False, True])
def test_a_named_worker_that_stops_hands_its_partitions_over(published, monkeypatch, fails):
    """Also where its last call failed."""
    with KafkaLog(published.model_copy(update={"worker": "w-1"}), membership="group") as first:
        read(first, 60)
        if fails:
            monkeypatch.setattr(first, "_commit", MagicMock(side_effect=KafkaTimeoutError("late")))
            with pytest.raises(BrokerError):
                first.commit(dict.fromkeys(range(3), 1))
    started = time.monotonic()
    with KafkaLog(published.model_copy(update={"worker": "w-2"}), membership="group") as second:
        read(second, 60)
    assert time.monotonic() - started < published.session_timeout_s / 3


@LASTING
def test_of_two_workers_with_one_name_the_older_one_ends(published: KafkaOptions) -> None:
    named = published.model_copy(update={"worker": "w-1"})
    with KafkaLog(named, membership="group") as older, KafkaLog(named, membership="group") as newer:
        held = read(older, 60)
        read(newer, 60)
        with pytest.raises(ConfigurationError, match="another worker has our kafka.worker"):
            older.commit({r.log.partition: r.log.offset + 1 for r in held if r.log})
        assert newer.partitions() == {0, 1, 2}
        older.close()  # takes nobody out of the group
        newer.commit({r.log.partition: r.log.offset + 1 for r in held if r.log})


@pytest.mark.parametrize("broker", [KAFKA], indirect=True)
def test_the_partitions_of_a_nameless_worker_that_was_killed_go_to_the_next(published):
    """Noida never takes a dead member out of its group."""
    brief = published.model_copy(update={"session_timeout_s": 2.0})
    kill_a_member(brief)
    with KafkaLog(brief, membership="group") as log:
        read(log, 60)
        assert log.partitions() == {0, 1, 2}


class Worker(threading.Thread):
    """Polls a batch, holds it for a while, and commits it, as the driver does."""

    def __init__(self, options: KafkaOptions) -> None:
        super().__init__()
        self.options = options
        self.done: list[bytes] = []
        self.held, self.go_on, self.stop = threading.Event(), threading.Event(), threading.Event()

    def run(self) -> None:
        with KafkaLog(self.options, membership="group") as log:
            while not self.stop.is_set():
                with suppress(BrokerError):
                    batch = log.poll(max_records=10, max_bytes=2**20, timeout_s=0.2)
                    if batch:
                        self.held.set()
                        assert self.go_on.wait(60)
                        self.done += [record.payload for record in batch]
                        log.commit({r.log.partition: r.log.offset + 1 for r in batch if r.log})


@pytest.mark.parametrize("broker", [KAFKA], indirect=True)  # Noida does not always split a group
@pytest.mark.parametrize("names", [("", ""), ("w-1", "w-2")])
def test_a_rebalance_while_batches_are_in_hand_loses_nothing(published, names):
    """The group is split anew under the first worker's batch, and again when the second leaves."""
    first, second = (Worker(published.model_copy(update={"worker": name})) for name in names)
    first.start()
    assert first.held.wait(30)
    second.start()  # its join waits for the first one's next poll
    first.go_on.set()
    everything = {b"k:%d" % n for n in range(60)}
    with KafkaSink(published) as sink:
        deadline = time.monotonic() + 2 * published.session_timeout_s
        while not second.held.wait(0.1):
            assert time.monotonic() < deadline, "the second worker got nothing"
            later = [b"later:%d" % n for n in range(len(everything), len(everything) + 9)]
            sink.publish([event(f"k{n}", payload) for n, payload in enumerate(later)])
            everything.update(later)
    second.stop.set()
    second.go_on.set()  # what it holds is done and committed, then it leaves
    second.join()
    until_done(everything, (first, second), 2 * published.session_timeout_s)
    first.stop.set()
    first.join()


def until_done(everything: set[bytes], workers: Sequence[Worker], patience_s: float) -> None:
    """Wait until all was worked on. Raises AssertionError where nothing moves for too long.

    What was done may stay uncommitted: a commit that failed is made up for with the next one. And a
    worker that ends after the broker has refused its generation does not say that it leaves: its
    partitions rest for a session timeout, and are read then.
    """
    before, deadline = -1, 0.0
    while (done := {payload for worker in workers for payload in worker.done}) != everything:
        if len(done) != before:
            before, deadline = len(done), time.monotonic() + patience_s
        assert time.monotonic() < deadline, sorted(everything - done)
        time.sleep(0.1)


@LASTING
def test_partitions_are_taken_over_again_where_the_database_failed(published: KafkaOptions) -> None:
    """What had come with them is read, and what the group committed is compared, after all."""
    insist = MagicMock(side_effect=[RuntimeError("the database is away"), None])
    with KafkaLog(published, membership="group", insist=insist) as log:
        with pytest.raises(RuntimeError, match="away"):
            read(log, 1)
        records = read(log, 60)
    assert len({record.log for record in records}) == 60
    once, again = insist.call_args_list  # not in every poll
    assert once == again


def test_a_join_that_ends_between_two_polls_is_not_the_end_of_reading(own_broker: Broker) -> None:
    """kafka-python leaves it unfinished once the change that led to it is taken in.

    It then sent no heartbeat, read nothing and told nobody; a worker stayed ready and idle.
    """
    options = own_broker.options(worker="worker-1")
    ensure_topics(options)
    with KafkaLog(options, membership="group") as log, KafkaSink(options) as sink:
        sink.publish([event("k", b"k:0")])
        assert [record.payload for record in read(log, 1)] == [b"k:0"]
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
