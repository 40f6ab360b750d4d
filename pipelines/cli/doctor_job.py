"""What the continuous job needs, as `radarstream doctor` looks at it: a few seconds at most."""

import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass

from connectors.kafka.options import KafkaOptions
from connectors.kafka.topics import describe_topics
from pipelines.settings import Settings
from pipelines.settings.job import host_and_port
from schemas.errors import BrokerError, ConfigurationError

PATIENCE_S = 3.0
KNOCK_S = 1.0


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; `remedy` says how to mend what is missing."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def job_checks(settings: Settings) -> Iterator[Check]:
    """Look at everything; none raises, and what is optional and absent is no failure."""
    yield from broker_and_topics(settings.kafka)
    yield search_key(settings.search.api_key_variable)
    yield webhook(settings)
    yield telemetry(settings.telemetry.listen)


def answers(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection((host, port), KNOCK_S).close()
    except OSError:
        return False
    return True


def broker_answers(options: KafkaOptions) -> bool:
    """Whether somebody listens at the first bootstrap address."""
    return answers(*host_and_port(options.bootstrap.split(",")[0].strip()))


def broker_and_topics(options: KafkaOptions) -> Iterator[Check]:
    """Ask the broker for our topics."""
    quick = options.model_copy(update={"request_timeout_s": PATIENCE_S})
    try:
        topics = describe_topics(quick)
    except (BrokerError, ConfigurationError) as error:
        yield Check("broker", False, str(error), "start Kafka, or correct section `kafka`")
        return
    yield Check("broker", True, options.bootstrap)
    missing = [topic.name for topic in topics if not topic.exists]
    found = f"missing: {', '.join(missing)}" if missing else f"all {len(topics)} exist"
    yield Check("topics", not missing, found, "radarstream topics create")


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
    return Check("alerts", False, f"{variable} is not set", f"put the signing secret in {variable}")


def telemetry(listen: str) -> Check:
    """Whether /metrics and /healthz can be served."""
    if not listen:
        return Check("telemetry", True, "none wanted")
    host, port = host_and_port(listen)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.create_server((host, port), family=family):
            return Check("telemetry", True, f"{listen} is free")
    except OSError:
        remedy = "a job that runs here has it, or set telemetry.listen"
        return Check("telemetry", False, f"{listen} cannot be bound", remedy)
