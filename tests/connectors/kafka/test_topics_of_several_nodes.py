"""Topics are made by one node and described by another, which hears of them a little later."""

import pytest

from radarstream.connectors.kafka import topics
from tests.brokers import Broker


def test_a_node_that_does_not_know_a_new_topic_yet_is_asked_again(
    own_broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    described, asked = topics._described, []

    def late(admin: object, options: object) -> list[topics.Topic]:
        found = described(admin, options)  # type: ignore[arg-type]
        asked.append(found)
        return [topics.Topic(topic.name, 0) for topic in found] if len(asked) <= 3 else found

    monkeypatch.setattr(topics, "_described", late)
    made = topics.ensure_topics(own_broker.options())
    assert len(asked) == 4
    assert all(topic.exists and topic.created for topic in made)
