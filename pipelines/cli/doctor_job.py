"""What the continuous job needs, as `radarstream doctor` looks at it: a few seconds at most."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

from radarstream.connectors.kafka.offsets import partition_offsets
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.source import SNAPSHOTS
from radarstream.connectors.kafka.topics import describe_topics
from radarstream.connectors.state_table.database.inspection import knows_group
from radarstream.pipelines.cli.doctor_check import Check, answers, command
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.job import host_and_port
from radarstream.schemas.errors import BrokerError, ConfigurationError, RadarstreamError

PATIENCE_S = 3.0


def job_checks(settings: Settings, config: Path | None = None) -> Iterator[Check]:
    """Look at everything; none raises, and what is optional and absent is no failure."""
    yield from broker_and_topics(settings.kafka, config)
    yield from lost_memory(settings, config)
    yield search_key(settings.search.api_key_variable)
    yield webhook(settings)
    yield telemetry(settings.telemetry.listen)


def broker_answers(options: KafkaOptions) -> bool:
    """Whether somebody listens at a bootstrap address."""
    servers = options.bootstrap.split(",")
    return any(answers(*host_and_port(server.strip())) for server in servers)


def broker_and_topics(options: KafkaOptions, config: Path | None) -> Iterator[Check]:
    """Ask the broker for our topics; none is made."""
    start = "start Kafka, or correct section `kafka`"
    if not broker_answers(options):
        yield Check("broker", False, f"nobody listens at {options.bootstrap}", start)
        return
    quick = options.model_copy(update={"request_timeout_s": PATIENCE_S})
    try:
        topics = describe_topics(quick)
    except (BrokerError, ConfigurationError) as error:
        yield Check("broker", False, str(error), error.remedy or start)
        return
    yield Check("broker", True, options.bootstrap)
    missing = [topic.name for topic in topics if not topic.exists]
    found = f"missing: {', '.join(missing)}" if missing else f"all {len(topics)} exist"
    yield Check("topics", not missing, found, command("topics create", config))


def lost_memory(settings: Settings, config: Path | None) -> Iterator[Check]:
    """Tell of offsets without the memory that belongs to them: `run` refuses to start then."""
    group = settings.kafka.group
    quick = settings.kafka.model_copy(update={"request_timeout_s": PATIENCE_S})
    try:
        if not broker_answers(quick) or knows_group(settings.database, group):
            return
        offsets = partition_offsets(quick, topic=SNAPSHOTS, group=group)
    except RadarstreamError:
        return  # no such topic, or no access: other checks tell
    if any(partition.committed for partition in offsets.values()):
        yield Check(
            "memory",
            False,
            f"consumer group {group} has committed offsets, but the database is empty",
            "restore the database or correct `database`; to begin with an empty memory: "
            + command("run --start-over", config),
        )


def search_key(variable: str) -> Check:
    """Only collecting needs it."""
    found = "is set" if os.environ.get(variable) else "is not set; only collecting needs it"
    return Check("search key", True, f"{variable} {found}")


def webhook(settings: Settings) -> Check:
    """Alerts are optional; with an address, they need a secret."""
    wanted = settings.alerts.webhook
    if wanted is None:
        return Check("alerts", True, "no webhook; only `radarstream alert` needs one")
    if os.environ.get(wanted.secret_variable):
        return Check("alerts", True, f"webhook given, {wanted.secret_variable} is set")
    variable = wanted.secret_variable
    return Check("alerts", False, f"{variable} is not set", f"export {variable}=… (it signs)")


def telemetry(listen: str) -> Check:
    """Whether /metrics and /healthz can be served."""
    if not listen:
        return Check("telemetry", True, "none wanted")
    host, port = host_and_port(listen)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.create_server((host, port), family=family):
            return Check("telemetry", True, f"{listen} is free")
    except OSError as error:
        remedy = "a job that runs here has it, or set telemetry.listen"
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        return Check("telemetry", False, f"{listen} cannot be bound: {why}", remedy)
