"""Clients of kafka-python with explicit arguments, and its errors turned into ours."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.admin import MemberToRemove
from kafka.errors import (
    AuthorizationError,
    FencedInstanceIdError,
    InvalidTopicError,
    KafkaConfigurationError,
    KafkaError,
    KafkaTimeoutError,
    TopicAuthorizationFailedError,
)

from radarstream.connectors.closing import Closing
from radarstream.connectors.kafka.batches import guard
from radarstream.connectors.kafka.network import REFUSED, ReportingClient
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.schemas.errors import BrokerError, ConfigurationError
from radarstream.schemas.section import read_secret

ClientT = TypeVar("ClientT")
FETCH_BYTES = 16 * 2**20  # largest answer; kafka-python keeps one and requests another
POLL_RECORDS = 64  # records decoded at once
JOIN_S = 1.0  # least time of a poll during a rebalance
NAP_S = 0.05  # pause between requests to a broker without new records
CLOSE_MS = 2_000
WRONG_SETTINGS = (AuthorizationError, InvalidTopicError, KafkaConfigurationError, *REFUSED)

# kafka-python logs normal closing as an error, and at DEBUG record values and the SASL password.
# Important failures are raised, and logged by our code.
logging.getLogger("kafka").setLevel(logging.CRITICAL)


def open_consumer(
    options: KafkaOptions, *, group: str | None, worker: str = "", poll_records: int = POLL_RECORDS
) -> KafkaConsumer:
    """Connect a consumer, with `worker` as a static member of its group (KIP-345).

    An unreadable batch is one record with a `RefusedBatch` as its value. Raises BrokerError,
    ConfigurationError.
    """
    arguments = consumer_arguments(options, group, poll_records)
    consumer = _opened(KafkaConsumer, arguments | {"group_instance_id": worker or None})
    guard(consumer, options.decompressed_bytes)
    return consumer


class Reader(Closing):
    """The base of readers of topics, with one consumer that `_open` connects. Not thread-safe."""

    silence_s = 15.0  # time without a record after which the broker is probed
    probe_ms = 5_000
    poll_records = POLL_RECORDS

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._timeout_ms = int(options.request_timeout_s * 1000)
        self._consumer: KafkaConsumer | None = None
        self._heard = monotonic()

    def close(self) -> None:
        """Disconnect without a commit, also if the broker does not answer."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with suppress(KafkaError, OSError):
                consumer.close(autocommit=False, timeout_ms=CLOSE_MS)

    def _open(self, group: str | None, worker: str = "") -> KafkaConsumer:
        self._consumer = open_consumer(
            self._options, group=group, worker=worker, poll_records=self.poll_records
        )
        self._heard = monotonic()
        return self._consumer

    def _partitions_of(self, consumer: KafkaConsumer, topic: str) -> list[TopicPartition]:
        """Return all partitions of a topic (its full name).

        Raises BrokerError if it does not exist, ConfigurationError if we have no right to see it.
        """
        numbers = sorted(consumer.partitions_for_topic(topic))
        if topic in consumer._cluster.unauthorized_topics:  # the client says "no partitions"
            raise TopicAuthorizationFailedError(topic)
        if not numbers:
            raise BrokerError(f"there is no topic {topic}: radarstream topics create")
        return [TopicPartition(topic, number) for number in numbers]

    def _commit(self, consumer: KafkaConsumer, topic: str, next_offsets: Mapping[int, int]) -> None:
        offsets = {
            TopicPartition(topic, partition): OffsetAndMetadata(offset, "", -1)
            for partition, offset in next_offsets.items()
        }
        consumer.commit(offsets, timeout_ms=self._timeout_ms)

    def _check_answers(
        self, consumer: KafkaConsumer, place: TopicPartition, *, heard: bool
    ) -> None:
        """Ask the broker for an offset if no record came for `silence_s`.

        An empty poll does not show whether it still answers.
        """
        if not heard and monotonic() - self._heard > self.silence_s:
            consumer.beginning_offsets([place], timeout_ms=self.probe_ms)
            heard = True
        if heard:
            self._heard = monotonic()


def leave_group(options: KafkaOptions) -> None:
    """Remove a static member from its group, so that others get its partitions at once.

    Closing a consumer does so for other members only. If it fails, the session timeout does it.
    """
    named = MemberToRemove(group_instance_id=options.worker)
    failures = (BrokerError, ConfigurationError, KafkaError, OSError)
    with suppress(*failures), closing(open_admin(options)) as admin:
        admin.remove_group_members(options.group, [named])


def open_producer(options: KafkaOptions) -> KafkaProducer:
    """Connect an idempotent producer. Raises BrokerError, ConfigurationError."""
    return _opened(KafkaProducer, producer_arguments(options))


def open_admin(options: KafkaOptions) -> KafkaAdminClient:
    """Connect an admin client. Raises BrokerError, ConfigurationError."""
    return _opened(KafkaAdminClient, connection_arguments(options))


def patient_poll(
    consumer: KafkaConsumer,
    wait_s: float,
    max_records: int = POLL_RECORDS,
    joining: Callable[[], bool] = lambda: False,
) -> dict[TopicPartition, list[Any]]:
    """Poll until records come, for at most `wait_s`, without keeping a core busy.

    kafka-python repeats a request as soon as the broker answers that there is nothing. Some brokers
    do so at once, and an idle job would spin; so polls do not wait, but pause in between.

    While the group is `joining`, a poll waits at least `JOIN_S`. kafka-python forgets a join that
    ends between two polls, so that short polls might never join. After a change of the topic's
    partitions it does not even start another join; `request_rejoin` does.
    """
    deadline = monotonic() + wait_s
    while True:
        join_s = 0.0
        if joining():
            join_s = max(JOIN_S, deadline - monotonic())
            consumer._coordinator.request_rejoin()
        batches = consumer.poll(timeout_ms=int(join_s * 1000), max_records=max_records)
        left = deadline - monotonic()
        if batches or (left <= 0.0 and (join_s or not joining())):
            return dict(batches)
        if not joining():
            sleep(min(NAP_S, left))


@contextmanager
def broker_errors(action: str) -> Iterator[None]:
    """Turn kafka-python's errors into BrokerError, or ConfigurationError if retrying cannot help.

    `action` completes "cannot …" in the message.
    """
    try:
        yield
    except FencedInstanceIdError as error:
        raise ConfigurationError(
            f"cannot {action}: another worker has our kafka.worker: each needs a name of its own"
        ) from error
    except WRONG_SETTINGS as error:
        raise ConfigurationError(f"cannot {action}: {_words(error)}") from error
    except (KafkaError, OSError) as error:
        raise BrokerError(f"cannot {action}: {_words(error)}") from error


def connection_arguments(options: KafkaOptions) -> dict[str, Any]:
    """Return the arguments of every client; they have the password, so never log them."""
    request_ms = int(options.request_timeout_s * 1000)
    return {
        "bootstrap_servers": [part.strip() for part in options.bootstrap.split(",")],
        "client_id": "radarstream",
        "request_timeout_ms": request_ms,
        "connections_max_idle_ms": request_ms + 9 * 60_000,
        "metadata_max_age_ms": 60_000,  # to notice new partitions and topics
        "reconnect_backoff_max_ms": 2_000,
        "bootstrap_timeout_ms": min(request_ms, 10_000),
        # Largest answer that is read; a topic's records must be smaller.
        "receive_message_max_bytes": 4 * options.written_bytes + FETCH_BYTES,
        "security_protocol": options.security,
    } | _security(options)


def consumer_arguments(
    options: KafkaOptions, group: str | None, poll_records: int = POLL_RECORDS
) -> dict[str, Any]:
    """Return the arguments of a consumer, which commits and creates nothing by itself."""
    return connection_arguments(options) | {
        "group_id": group,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "isolation_level": "read_committed",
        "allow_auto_create_topics": False,
        "check_crcs": True,
        "max_poll_records": poll_records,
        "max_poll_interval_ms": int(options.poll_interval_s * 1000),
        "session_timeout_ms": int(options.session_timeout_s * 1000),
        # Heartbeats have their own thread, so that a long batch does not stop them.
        "heartbeat_interval_ms": int(min(3.0, options.session_timeout_s / 3) * 1000),
        "fetch_min_bytes": 1,
        "fetch_max_wait_ms": 500,
        # A first record larger than either is still returned (KIP-74).
        "fetch_max_bytes": FETCH_BYTES,
        "max_partition_fetch_bytes": 2 * 2**20,
    }


def producer_arguments(options: KafkaOptions) -> dict[str, Any]:
    """Return the arguments of a producer: each record once, in order, on all in-sync replicas."""
    compression = None if options.compression == "none" else options.compression
    return connection_arguments(options) | {
        "acks": "all",
        "enable_idempotence": True,
        "max_in_flight_requests_per_connection": 5,
        "compression_type": compression,
        "batch_size": 2**18,  # records of one partition that are compressed together
        "linger_ms": 5,
        "max_request_size": options.written_bytes,
        "delivery_timeout_ms": int(options.delivery_timeout_s * 1000),
        "max_block_ms": int(options.request_timeout_s * 1000),
        "allow_auto_create_topics": False,
    }


def _opened(kind: Callable[..., ClientT], arguments: dict[str, Any]) -> ClientT:
    """Construct a client; if it cannot connect, end its threads and sockets."""
    networks: list[ReportingClient] = []

    def network(**given: Any) -> ReportingClient:
        networks.append(ReportingClient(**given))
        return networks[-1]

    try:
        with broker_errors(f"reach Kafka at {', '.join(arguments['bootstrap_servers'])}"):
            try:
                return kind(**arguments, kafka_client=network)
            except KafkaTimeoutError as error:
                raise networks[-1].manager.failure or error from None
    except BaseException:
        for opened in networks:
            with suppress(KafkaError, OSError):
                opened.close()
        raise


def check_security(options: KafkaOptions) -> None:
    """Raise ConfigurationError if the user, the password or a file is missing."""
    _security(options)


def _security(options: KafkaOptions) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if options.security.endswith("SSL"):
        arguments |= {
            "ssl_check_hostname": options.check_hostname,
            "ssl_cafile": _existing(options.ca_file, "ca_file"),
            "ssl_certfile": _existing(options.certificate_file, "certificate_file"),
            "ssl_keyfile": _existing(options.key_file, "key_file"),
        }
    if options.security.startswith("SASL"):
        if not options.username:
            raise ConfigurationError(f"kafka.security {options.security} needs kafka.username")
        arguments |= {
            "sasl_mechanism": options.sasl_mechanism,
            "sasl_plain_username": options.username,
            "sasl_plain_password": read_secret(options.password_variable),
        }
    return arguments


def _existing(file: Path | None, setting: str) -> str | None:
    if file is not None and not file.is_file():
        raise ConfigurationError(f"kafka.{setting}: no file {file}")
    return str(file) if file else None


def _words(error: BaseException) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
