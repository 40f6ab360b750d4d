"""Creates our topics on the cluster, and compares existing ones with the settings."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from time import monotonic, sleep
from typing import Any

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from radarstream.connectors.kafka.clients import broker_errors, open_admin
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.schemas.codec import WIRE_SCHEMAS
from radarstream.schemas.errors import BrokerError

TOPICS = tuple(dict.fromkeys(schema.topic for schema in WIRE_SCHEMAS.values()))
COMPACTED = "answers.defended"
BATCH_HEADER_BYTES = 2**10  # the broker's limit includes the batch around a record
HOUR_MS = 3_600_000
UNKNOWN_SETTINGS = "the settings on the broker are unknown: DescribeConfigs is not allowed"
READY_MS = 10_000
LOOK_S = 0.1


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic on the cluster; `partitions` is 0 if it does not exist.

    `differences` describes deviations from the settings. They do not stop the job, and it never
    changes an existing topic.
    """

    name: str
    partitions: int
    replication: int = 0
    configs: dict[str, str] = field(default_factory=dict)
    differences: tuple[str, ...] = ()
    created: bool = False

    @property
    def exists(self) -> bool:
        """Whether the topic exists."""
        return self.partitions > 0


def ensure_topics(options: KafkaOptions) -> list[Topic]:
    """Create missing topics and describe all.

    It never changes existing topics, so that repeated or parallel runs are harmless. If all exist,
    it needs no right to create topics. Raises BrokerError, ConfigurationError.
    """
    with closing(open_admin(options)) as admin:
        missing = {topic.name for topic in _described(admin, options) if not topic.exists}
        if missing:
            _create(admin, options, missing)
        found = _described(admin, options)
        deadline = monotonic() + READY_MS / 1000
        # Another node than the one that created them may answer and not know them yet.
        while missing and not all(topic.exists for topic in found) and monotonic() < deadline:
            sleep(LOOK_S)
            found = _described(admin, options)
    for topic in found:
        if topic.name in missing and not topic.exists:
            raise BrokerError(f"topic {topic.name} was created but is not there")
    return [replace(topic, created=topic.name in missing) for topic in found]


def describe_topics(options: KafkaOptions) -> list[Topic]:
    """Describe our topics, also missing ones. Raises BrokerError, ConfigurationError."""
    with closing(open_admin(options)) as admin:
        return _described(admin, options)


def wanted_configs(options: KafkaOptions, name: str) -> dict[str, str]:
    """Return the settings of a topic that we create; `name` has no prefix.

    The topic of answers keeps the last answer of each query for ever, for consumers that start
    late. All other records are kept for the retention time.
    """
    retention = str(options.retention_hours * HOUR_MS)
    kept = (
        {"cleanup.policy": "compact", "min.compaction.lag.ms": retention}
        if name == COMPACTED
        else {"cleanup.policy": "delete", "retention.ms": retention}
    )
    return kept | {"max.message.bytes": str(options.written_bytes + BATCH_HEADER_BYTES)}


def _create(admin: KafkaAdminClient, options: KafkaOptions, names: Collection[str]) -> None:
    wanted = {
        options.topic(name): {
            "num_partitions": options.partitions,
            "replication_factor": options.replication,
            "configs": wanted_configs(options, name),
        }
        for name in TOPICS
        if options.topic(name) in names
    }
    with broker_errors("create topics"):
        answer = admin.create_topics(wanted, raise_errors=False)
        for topic in answer["topics"]:
            error = for_code(topic["error_code"])
            if topic["error_code"] and error is not TopicAlreadyExistsError:
                raise error(f"{topic['name']}: {topic.get('error_message') or ''}")
        admin.wait_for_topics(list(names), timeout_ms=READY_MS)


def _described(admin: KafkaAdminClient, options: KafkaOptions) -> list[Topic]:
    names = [options.topic(name) for name in TOPICS]
    with broker_errors("describe topics"):
        found = {topic["name"]: topic for topic in admin.describe_topics(names)}
        for name, topic in found.items():
            if topic["error_code"] not in (0, UnknownTopicOrPartitionError.errno):
                raise for_code(topic["error_code"])(name)
        partitions = {name: found[name]["partitions"] for name in names if name in found}
        asked = [ConfigResource(ConfigResourceType.TOPIC, n) for n in names if partitions.get(n)]
        answer = admin.describe_configs(asked, config_filter="all") if asked else {}
    configs = answer.get("topic", {})
    return [
        _topic(options, short, partitions.get(name) or [], configs.get(name, {}))
        for short, name in zip(TOPICS, names, strict=True)
    ]


def _topic(
    options: KafkaOptions, short: str, partitions: Sequence[Any], found: Mapping[str, Any]
) -> Topic:
    name = options.topic(short)
    if not partitions:
        return Topic(name, 0)
    wanted = wanted_configs(options, short)
    configs = {key: entry["value"] for key, entry in found.items() if key in wanted}
    replication = min(len(partition["replica_nodes"]) for partition in partitions)
    compared = [
        ("partitions", len(partitions), options.partitions),
        ("replication", replication, options.replication),
        *((key, configs.get(key), value) for key, value in wanted.items()),
    ]
    differences = tuple(
        f"{what} {present}, settings {expected}"
        for what, present, expected in compared
        if present not in (None, expected)
    )
    if not found:
        differences += (UNKNOWN_SETTINGS,)
    return Topic(name, len(partitions), replication, configs, differences)
