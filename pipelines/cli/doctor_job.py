"""What surrounds the job, as `radarstream doctor` looks at it: a few seconds at most.

The database, the broker and the rest are read, and never changed.
"""

import os
import shlex
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.source import SNAPSHOTS
from radarstream.connectors.kafka.topics import describe_topics
from radarstream.connectors.state_table.database.engine import parsed_url
from radarstream.connectors.state_table.database.inspection import (
    Inspected,
    absent_file,
    inspected,
    offsets_in,
)
from radarstream.connectors.state_table.database.migration import HEAD
from radarstream.pipelines.build import committed_offsets
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.job import host_and_port
from radarstream.schemas.errors import BrokerError, ConfigurationError, RadarstreamError

CONNECT_S = 1.0
PATIENCE_S = 3.0
POSTGRESQL_PORT: Final = 5432
START: Final = "start Kafka, or correct section `kafka`"
GRANT: Final = "let an administrator grant this user INSERT, UPDATE and DELETE on the tables"
CORRECT: Final = "correct `database`, and for a password PGPASSWORD"


@dataclass(frozen=True, slots=True)
class Check:
    """One result; `remedy` says how to mend what is missing."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def attempt(name: str, work: Callable[[], str], remedy: str) -> Check:
    """Turn a failure into a result; the error's own remedy comes first."""
    try:
        return Check(name, True, work())
    except RadarstreamError as error:
        return Check(name, False, str(error), error.remedy or remedy)


def job_checks(settings: Settings, config: Path | None = None) -> Iterator[Check]:
    """Look at everything; none raises, and what is optional and absent is no failure."""
    if broker_answers(settings.kafka):
        kafka = settings.kafka.model_copy(update={"request_timeout_s": PATIENCE_S})
        quick = settings.model_copy(update={"kafka": kafka})
        yield from _broker_and_topics(kafka, config)
        yield from _lost_memory(quick, config)
    else:
        yield Check("broker", False, f"nobody listens at {settings.kafka.bootstrap}", START)
    variable = settings.search.api_key_variable
    found = "is set" if os.environ.get(variable) else "is not set; only collecting needs it"
    yield Check("search key", True, f"{variable} {found}")
    yield _webhook(settings)
    yield _telemetry(settings.telemetry.listen)


def broker_answers(options: KafkaOptions) -> bool:
    """Whether somebody listens at a bootstrap address."""
    servers = options.bootstrap.split(",")
    return any(_answers(*host_and_port(server.strip())) for server in servers)


def database(url: str, config: Path | None) -> Check:
    """Say what the state database holds, or that the first run will make it."""
    try:
        absent = absent_file(url)
        if absent is not None:
            there = next(place for place in absent.absolute().parents if place.exists())
            if there.is_dir() and os.access(there, os.W_OK):
                return Check("database", True, f"{absent} is not there yet: the first run makes it")
            found = f"{absent} is missing, and cannot be made there"
            return Check("database", False, found, "point `database` to a writable place")
        parsed = parsed_url(url)
        port = parsed.port or POSTGRESQL_PORT
        if parsed.host and not _answers(parsed.host, port):
            remedy = "start PostgreSQL there, or correct `database`"
            return Check("database", False, f"nobody listens at {parsed.host}:{port}", remedy)
        return _present(inspected(url), config)
    except RadarstreamError as error:
        return Check("database", False, str(error), error.remedy or CORRECT)


def _present(found: Inspected, config: Path | None) -> Check:
    if found.version == HEAD:
        holds = f"{found.name}, schema {HEAD}"
        if found.may_write:
            return Check("database", True, holds)
        return Check("database", False, f"{holds}, which this user may not write", GRANT)
    migrate = _command("state migrate", config)
    holds = f"{found.name}, empty"
    if found.may_make:
        return Check("database", True, f"{holds}: {migrate}, or the first run, makes the tables")
    sql = _command("state migrate --sql", config)
    remedy = f"let an administrator run what this prints: {sql}"
    return Check("database", False, f"{holds}, where this user may make no tables", remedy)


def _broker_and_topics(options: KafkaOptions, config: Path | None) -> Iterator[Check]:
    """Ask the broker for our topics; none is made."""
    try:
        topics = describe_topics(options)
    except (BrokerError, ConfigurationError) as error:
        yield Check("broker", False, str(error), error.remedy or START)
        return
    yield Check("broker", True, options.bootstrap)
    missing = [topic.name for topic in topics if not topic.exists]
    found = f"missing: {', '.join(missing)}" if missing else f"all {len(topics)} exist"
    yield Check("topics", not missing, found, _command("topics create", config))


def _lost_memory(settings: Settings, config: Path | None) -> Iterator[Check]:
    """Report offsets without the memory that belongs to them: `run` refuses to start then."""
    group = settings.kafka.group
    try:
        committed = committed_offsets(settings, group, SNAPSHOTS)
        known = offsets_in(settings.database, group)
    except RadarstreamError:
        return  # no such topic, or no access: other checks report it
    if any(offset > known.get(place, 0) for place, offset in committed.items()):
        yield Check(
            "memory",
            False,
            f"consumer group {group} has committed offsets that the database does not know",
            "restore the database or correct `database`; to go on with what it remembers: "
            + _command("run --start-over", config),
        )


def _webhook(settings: Settings) -> Check:
    """Alerts are optional; with an address, they need a secret."""
    wanted = settings.alerts.webhook
    if wanted is None:
        return Check("alerts", True, "no webhook; only `radarstream alert` needs one")
    variable = wanted.secret_variable
    if os.environ.get(variable):
        return Check("alerts", True, f"webhook given, {variable} is set")
    return Check("alerts", False, f"{variable} is not set", f"export {variable}=… (it signs)")


def _telemetry(listen: str) -> Check:
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


def _command(words: str, config: Path | None) -> str:
    """A command to be typed, on the settings file that doctor was given."""
    given = f" --config {shlex.quote(str(config))}" if config else ""
    return f"radarstream {words}{given}"


def _answers(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), CONNECT_S).close()
    except OSError:
        return False
    return True
