"""Our topics on the cluster: created when missing, compared with the settings when not."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import TopicAlreadyExistsError, UnknownTopicOrPartitionError, for_code

from radarstream.connectors.kafka.clients import broker_errors, open_admin
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.schemas.errors import BrokerError

TOPICS = (
    "search.snapshots",
    "answers.defended",
    "events.attribution",
    "snapshots.deadletter",
    "answers.complaints",
)
COMPACTED = "answers.defended"
BATCH_HEADER_BYTES = 2**10  # a limit of the broker's counts the batch around a record
HOUR_MS = 3_600_000
READY_MS = 10_000


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it is on the cluster; `partitions` is 0 when it does not exist.

    `differences` says what is not as the settings would create it, a sentence each. None of them
    stops the job: existing topics are their owner's to change.
    """

    name: str
    partitions: int
    replication: int = 0
    configs: dict[str, str] = field(default_factory=dict)
    differences: tuple[str, ...] = ()
    created: bool = False

    @property
    def exists(self) -> bool:
        """Whether the job can use it."""
        return self.partitions > 0


def ensure_topics(options: KafkaOptions) -> list[Topic]:
    """Create the topics that are missing and describe all of them.

    Existing ones are never changed, so that running it again, or twice at once, is harmless, and
    no right to create topics is needed when they exist. Raises BrokerError, ConfigurationError.
    """
    admin = open_admin(options)
    try:
        missing = [topic.name for topic in _described(admin, options) if not topic.exists]
        if missing:
            _create(admin, options, missing)
        return [
            _as_created(topic) if topic.name in missing else topic
            for topic in _described(admin, options)
        ]
    finally:
        admin.close()


def describe_topics(options: KafkaOptions) -> list[Topic]:
    """Describe our topics as they are, missing ones too. Raises BrokerError, ConfigurationError."""
    admin = open_admin(options)
    try:
        return _described(admin, options)
    finally:
        admin.close()


def wanted_configs(options: KafkaOptions, name: str) -> dict[str, str]:
    """Return the settings of a topic that we create; `name` is without the prefix.

    Of a query's answers the last one is kept for ever, so that a consumer which starts late finds
    it, and the older ones for the retention time; everything else goes after that time.
    """
    retention = str(options.retention_hours * HOUR_MS)
    kept = (
        {"cleanup.policy": "compact", "min.compaction.lag.ms": retention}
        if name == COMPACTED
        else {"cleanup.policy": "delete", "retention.ms": retention}
    )
    return kept | {"max.message.bytes": str(options.written_bytes + BATCH_HEADER_BYTES)}


def _create(admin: KafkaAdminClient, options: KafkaOptions, names: Sequence[str]) -> None:
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
        for name in names:
            code = found[name]["error_code"] if name in found else 0
            if code not in (0, UnknownTopicOrPartitionError.errno):
                raise for_code(code)(name)
    existing = {name: found[name]["partitions"] for name in names if name in found}
    configs = _configs(admin, [name for name in names if existing.get(name)])
    topics = []
    for short, name in zip(TOPICS, names, strict=True):
        partitions = existing.get(name) or []
        replication = min((len(p["replica_nodes"]) for p in partitions), default=0)
        topic = Topic(name, len(partitions), replication, configs.get(name, {}))
        topics.append(_compared(topic, options, short) if topic.exists else topic)
    return topics


def _configs(admin: KafkaAdminClient, names: Sequence[str]) -> dict[str, dict[str, str]]:
    if not names:
        return {}
    asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    with broker_errors("describe topics"):
        answer = admin.describe_configs(asked, config_filter="all")
    found = answer.get("topic", {})
    return {
        name: {key: entry["value"] for key, entry in found.get(name, {}).items()} for name in names
    }


def _compared(topic: Topic, options: KafkaOptions, short: str) -> Topic:
    wanted = wanted_configs(options, short)
    differences = []
    if topic.partitions != options.partitions:
        differences.append(f"partitions {topic.partitions}, settings {options.partitions}")
    if topic.replication != options.replication:
        differences.append(f"replication {topic.replication}, settings {options.replication}")
    for key, value in wanted.items():
        found = topic.configs.get(key)
        if found is not None and found != value:
            differences.append(f"{key} {found}, settings {value}")
    configs = {key: value for key, value in topic.configs.items() if key in wanted}
    return replace(topic, configs=configs, differences=tuple(differences))


def _as_created(topic: Topic) -> Topic:
    if not topic.exists:
        raise BrokerError(f"topic {topic.name} was created but is not there")
    return replace(topic, created=True)
