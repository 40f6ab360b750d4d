"""Topics are created, compared and left alone; a topic can be read from any place."""

import json

import pytest
from typer.testing import CliRunner

from radarstream.connectors.kafka import topics
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.source import SNAPSHOTS
from radarstream.connectors.kafka.topic_reader import TopicReader
from radarstream.connectors.kafka.topics import TOPICS, describe_topics, ensure_topics
from radarstream.pipelines.cli.topics import app
from tests.brokers import Broker, event


@pytest.fixture
def options(broker: Broker, prefix: str) -> KafkaOptions:
    return broker.options(topic_prefix=prefix, group=prefix)


def test_topics_are_created_once_and_differences_told(options: KafkaOptions) -> None:
    assert not any(topic.exists for topic in describe_topics(options))
    created = ensure_topics(options)
    assert [topic.name for topic in created] == [options.topic(name) for name in TOPICS]
    assert all(topic.created and topic.partitions == 3 for topic in created)
    assert not any(topic.differences for topic in created)
    again = ensure_topics(options)
    assert not any(topic.created or topic.differences for topic in again)
    answers, snapshots = again[1].configs, again[0].configs
    assert answers["cleanup.policy"] == "compact"
    assert snapshots["retention.ms"] == str(7 * 24 * 3_600_000)
    assert int(snapshots["max.message.bytes"]) > options.written_bytes
    before = ensure_topics(options)
    other = options.model_copy(update={"partitions": 5, "retention_hours": 1})
    found = ensure_topics(other)
    assert found[0].differences == (
        "partitions 3, settings 5",
        "retention.ms 604800000, settings 3600000",
    )
    assert [topic.configs for topic in found] == [topic.configs for topic in before]


def test_the_command_creates_describes_and_fails_for_missing_ones(options, monkeypatch):
    monkeypatch.setenv("RADARSTREAM_KAFKA__BOOTSTRAP", options.bootstrap)
    monkeypatch.setenv("RADARSTREAM_KAFKA__TOPIC_PREFIX", options.topic_prefix)
    monkeypatch.setenv("RADARSTREAM_KAFKA__PARTITIONS", "2")
    run = CliRunner().invoke
    missing = run(app, ["describe"])
    assert missing.exit_code == 1 and "missing" in missing.stdout
    assert run(app, ["create"]).exit_code == 0
    monkeypatch.setenv("RADARSTREAM_KAFKA__PARTITIONS", "4")  # fewer are fine, and are told
    described = run(app, ["describe", "--json"])
    assert described.exit_code == 0
    rows = json.loads(described.stdout)
    assert [row["name"] for row in rows] == [options.topic(name) for name in TOPICS]
    assert rows[0]["differences"] == ["partitions 2, settings 4"]


def test_reading_from_the_end_and_from_the_commit(options: KafkaOptions) -> None:
    ensure_topics(options)
    with KafkaSink(options) as sink:
        for n in range(10):
            sink.publish([event("k", b"%d" % n)])
        with TopicReader(options, [SNAPSHOTS], start="latest") as reader:
            assert reader.poll(timeout_s=0.1) == []
            sink.publish([event("k", b"new")])
            assert [record.value for record in reader.poll(timeout_s=10.0)] == [b"new"]
    for expected in (b"0", b"1"):
        with TopicReader(options, [SNAPSHOTS], group="alerts") as reader:
            record = next(reader.to_the_end())
            assert record.value == expected
            reader.commit({record.partition: record.offset + 1})


def test_a_node_that_does_not_know_a_new_topic_yet_is_asked_again(own_broker, monkeypatch):
    described, asked = topics._described, []

    def late(admin: object, options: object) -> list[topics.Topic]:
        found = described(admin, options)  # type: ignore[arg-type]
        asked.append(found)
        return [topics.Topic(topic.name, 0) for topic in found] if len(asked) <= 3 else found

    monkeypatch.setattr(topics, "_described", late)
    made = topics.ensure_topics(own_broker.options())
    assert len(asked) == 4
    assert all(topic.exists and topic.created for topic in made)
