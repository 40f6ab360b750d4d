"""The job for a cluster with a real broker: partitions read by offset, and the whole command."""

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from kafka.errors import KafkaError

from radarstream.connectors.kafka.clients import open_admin, open_producer
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.partition_reader import KafkaPartition
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.connectors.kafka.topic_reader import Offsets, TopicReader, partition_offsets
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries.memory import load
from radarstream.pipelines.beam.cluster.job import GROUP_SUFFIX, Outside
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import BrokerError, ConfigurationError
from radarstream.schemas.records import RawRecord
from tests.brokers import Broker, running_broker
from tests.pipelines.beam.test_cluster_portable import TEAMS, record
from tests.programs import done

ROOT = Path(__file__).parents[3]
QUERIES = [f"q{n}" for n in range(5)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running_broker("noida", tmp_path_factory.mktemp("broker")) as running:
        yield running


def prefixed(broker: Broker, name: str) -> KafkaOptions:
    """Topics of a test's own."""
    options = broker.options(topic_prefix=f"{name}.")
    ensure_topics(options)
    return options


def write(options: KafkaOptions, payloads: list[tuple[int, bytes | None]]) -> None:
    producer = open_producer(options)
    topic = options.topic("search.snapshots")
    sent = [producer.send(topic, payload, key=b"k", partition=p) for p, payload in payloads]
    producer.flush()
    for future in sent:
        future.get(timeout=10)
    producer.close()


def polled(reader: Any, count: int) -> list[RawRecord]:
    """Poll until `count` records are there."""
    records: list[RawRecord] = []
    for _ in range(200):
        records += reader.poll(max_records=count, timeout_s=0.1)
        if len(records) >= count:
            return records
    raise AssertionError(f"{len(records)} of {count} records came")


def test_a_partition_gives_the_records_of_the_log_from_any_offset(broker: Broker) -> None:
    options = prefixed(broker, "same")
    write(options, [(1, b"a"), (1, None), (0, b"x"), (1, b"c"), (1, b"d")])
    with KafkaLog(options, partitions=[1]) as log:
        expected: list[RawRecord] = []
        while len(expected) < 4:
            expected += log.poll(max_records=10, max_bytes=2**20, timeout_s=0.1)
    reader = KafkaPartition(options, 1, group="same-cluster")
    for start in (0, 2, 1):
        reader.seek(start)
        assert (polled(reader, 4 - start), reader.position()) == (expected[start:], 4)
        assert reader.drained()
    reader.seek(0)
    assert not reader.drained()
    reader.close()
    assert partition_offsets(options) == {0: Offsets(0, 1), 1: Offsets(0, 4), 2: Offsets(0, 0)}


def test_a_topic_that_was_created_anew_ends_the_job(broker: Broker) -> None:
    options = prefixed(broker, "anew")
    write(options, [(0, b"a"), (0, b"b"), (0, b"c")])
    reader = KafkaPartition(options, 0, group="anew-cluster")
    polled(reader, 3)
    reader.close()
    admin = open_admin(options)
    admin.delete_topics([options.topic("search.snapshots")])
    for _ in range(100):
        try:
            ensure_topics(options)
            write(options, [(0, b"other")])
            break
        except (BrokerError, KafkaError):
            continue
    admin.close()
    again = KafkaPartition(options, 0, group="anew-cluster")
    again.seek(3)  # from a checkpoint of the old topic
    with pytest.raises(ConfigurationError, match="created anew"):
        polled(again, 1)
    again.close()


def test_an_empty_database_under_a_job_that_has_read_is_refused(broker, tmp_path) -> None:
    options = prefixed(broker, "lost")
    write(options, [(0, b"a"), (0, b"b"), (0, b"c")])
    kafka = options.model_dump(exclude_defaults=True)
    urls = [f"sqlite:///{tmp_path / name}" for name in ("first.db", "empty.db")]
    first, empty = (load_settings(profile="scripted", database=url, kafka=kafka) for url in urls)
    reader = Outside(first).open_reader(0)
    reader.remember(0)  # not connected: no error
    polled(reader, 3)
    reader.remember(2)
    group = options.group + GROUP_SUFFIX
    assert any(partition_offsets(options, group=group)[0].committed == 2 for _ in range(200))
    reader.close()
    Outside(first).open_reader(1).close()
    with pytest.raises(ConfigurationError, match=f"is empty or .*consumer group {group} has"):
        Outside(empty).open_reader(1)
    Outside(empty, start_over=True).open_reader(0).close()
    Outside(empty).open_reader(1).close()


def test_no_topic_and_no_broker_are_broker_errors(broker: Broker) -> None:
    with pytest.raises(BrokerError, match="topics create"):
        partition_offsets(broker.options(topic_prefix="nowhere."))
    nobody = KafkaOptions(bootstrap="127.0.0.1:1", request_timeout_s=1.0, delivery_timeout_s=2.0)
    with pytest.raises(BrokerError):
        KafkaPartition(nobody, 0, group="g").poll(max_records=1, timeout_s=0.1)


def test_the_command_reads_answers_and_publishes(broker: Broker, tmp_path: Path) -> None:
    options = prefixed(broker, "job")
    given = product(range(3), QUERIES)
    payloads = [(int(q[1:]) % 3, record(step, 0, q).payload) for step, q in given]
    write(options, [*payloads, (1, b"not a snapshot")])
    state = f"sqlite:///{tmp_path / 'state.db'}"
    assert submitted(options, state) == {"job": "radarstream", "state": "DONE"}
    events = read_all(options, "answers.defended")
    assert sorted(key for key, _ in events) == sorted(QUERIES * 3)
    for query_id in QUERIES:
        own = [json.loads(data) for key, data in events if key == query_id]
        assert [(e["step"], e["answer"]) for e in own] == list(enumerate(TEAMS[:3]))
    assert len(read_all(options, "snapshots.deadletter")) == 1
    engine = open_engine(state)
    assert {row.step for row in load(engine, QUERIES).values()} == {3}
    engine.dispose()


def submitted(options: KafkaOptions, state: str) -> Any:
    """Run the command over what is there, in the embedded portable runner."""
    command = ["submit", "--profile", "scripted"]
    command += ["--job-endpoint", "embed", "--environment", "LOOPBACK", "--once", "--json"]
    variables = {
        "RADARSTREAM_DATABASE": state,
        "RADARSTREAM_DEFENSE__WITHSTAND": "0",  # what one site says is given
        "RADARSTREAM_KAFKA__BOOTSTRAP": options.bootstrap,
        "RADARSTREAM_KAFKA__TOPIC_PREFIX": options.topic_prefix,
    }
    ended = done(*command, **variables)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(ended.stdout)


def read_all(options: KafkaOptions, topic: str) -> list[tuple[str, bytes]]:
    """Keys and values of a topic up to its present end, in order within a key."""
    with TopicReader(options, [topic]) as reader:
        return [(record.key.decode(), record.value or b"") for record in reader.to_the_end()]
