"""Settings of Kafka and its topics."""

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from radarstream.schemas.section import Section

ENVELOPE_BYTES = 2**16  # key, headers and the fields around a dead letter's payload
SERVER = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):(\d{1,5})")
LAST_PORT = 65_535


def checked_servers(bootstrap: str) -> str:
    """Check addresses of brokers, because a wrong one costs a long timeout. Raises ValueError.

    >>> checked_servers("kafka-1:9092, [::1]:9092")
    'kafka-1:9092, [::1]:9092'
    """
    for part in bootstrap.split(","):
        found = SERVER.fullmatch(part.strip())
        if not found or not 0 < int(found[2]) <= LAST_PORT:
            raise ValueError("must be host:port, several separated by commas")
    return bootstrap


class KafkaOptions(Section):
    """One cluster, and our topics on it.

    Secrets come from the environment: `password_variable` names the variable that holds the SASL
    password.
    """

    bootstrap: Annotated[str, AfterValidator(checked_servers)] = "127.0.0.1:9092"
    """brokers as host:port, separated by commas"""
    topic_prefix: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]*$")] = ""
    """prefix of every topic name"""
    security: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    """security protocol of connections"""
    ca_file: Path | None = None
    """file of the authority that signs the brokers' certificates; none = the system's"""
    certificate_file: Path | None = None
    """client certificate, for mutual TLS"""
    key_file: Path | None = None
    """private key of the client certificate"""
    check_hostname: bool = True
    """check that the certificate has the broker's name"""
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "SCRAM-SHA-512"
    """SASL mechanism"""
    username: str = ""
    """SASL user"""
    password_variable: str = "KAFKA_PASSWORD"  # noqa: S105 the name of a variable
    """environment variable that holds the SASL password"""
    group: Annotated[str, Field(min_length=1)] = Field(
        default_factory=lambda given: f"{given.get('topic_prefix', '')}radarstream"
    )
    """consumer group; default: topic_prefix + radarstream"""
    worker: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9._-]{0,200}$",
            description="with job.membership group: a name that only this worker has and keeps when"
            " it is restarted; it then gets its partitions back at once",
        ),
    ] = ""
    session_timeout_s: Annotated[float, Field(ge=1.0)] = 45.0
    """seconds of silence after which the broker considers a worker dead"""
    poll_interval_s: Annotated[float, Field(ge=1.0)] = 1_200.0
    """seconds after which a worker that does not poll loses its partitions"""
    partitions: Annotated[int, Field(ge=1)] = 8
    """of a topic that we create"""
    replication: Annotated[int, Field(ge=1)] = 1
    """of a topic that we create"""
    retention_hours: Annotated[int, Field(ge=1)] = 24 * 7
    """of a topic that we create"""
    compression: Literal["none", "gzip", "zstd", "lz4"] = "gzip"
    """compression of the records that are written"""
    message_bytes: Annotated[int, Field(ge=2**20)] = 24 * 2**20
    """largest snapshot record, in bytes"""
    decompressed_bytes: Annotated[
        int,
        Field(
            ge=2**20,
            description="largest batch of records that is read, decompressed; a larger one becomes"
            " one dead letter; default: twice message_bytes",
        ),
    ] = Field(default_factory=lambda given: 2 * given.get("message_bytes", 2**20))
    request_timeout_s: Annotated[float, Field(ge=1.0)] = 30.0
    """seconds for one request"""
    delivery_timeout_s: Annotated[float, Field(ge=1.0)] = 60.0
    """seconds for one publication, attempts included"""

    @model_validator(mode="after")
    def _settings_agree(self) -> Self:
        if self.delivery_timeout_s < self.request_timeout_s + 1.0:
            raise ValueError("delivery_timeout_s must be at least request_timeout_s + 1")
        if self.poll_interval_s < self.session_timeout_s:  # polls may be rarer than heartbeats
            raise ValueError("poll_interval_s must be at least session_timeout_s")
        if self.decompressed_bytes < self.written_bytes:
            raise ValueError(f"decompressed_bytes must be at least {self.written_bytes}")
        return self

    @property
    def written_bytes(self) -> int:
        """Largest record that is written: a dead letter with a snapshot record in base64."""
        return self.message_bytes * 4 // 3 + ENVELOPE_BYTES

    def topic(self, name: str) -> str:
        """Return the name of one of our topics on this cluster.

        >>> KafkaOptions(topic_prefix="staging.").topic("answers.defended")
        'staging.answers.defended'
        """
        return self.topic_prefix + name
