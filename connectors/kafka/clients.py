"""Clients of kafka-python with every argument that matters given, and its errors made ours."""

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
FETCH_BYTES = 16 * 2**20  # of one answer; kafka-python holds one and has one under way
POLL_RECORDS = 64  # records decoded at once
JOIN_S = 1.0  # a poll's least time while a group is split
NAP_S = 0.05  # between two questions to a broker that has nothing for us
CLOSE_MS = 2_000
WRONG_SETTINGS = (AuthorizationError, InvalidTopicError, KafkaConfigurationError, *REFUSED)

# Below CRITICAL, kafka-python reports normal closing as an error, and on DEBUG it prints record
# values and the SASL password. What matters is raised, and told by whoever catches it.
logging.getLogger("kafka").setLevel(logging.CRITICAL)


def open_consumer(
    options: KafkaOptions, *, group: str | None, worker: str = "", poll_records: int = POLL_RECORDS
) -> KafkaConsumer:
    """Connect a consumer, as the static member `worker` of its group when that is given (KIP-345).

    A batch that cannot be read comes as one record with a `RefusedBatch` for its value.

    Raises BrokerError, ConfigurationError.
    """
    arguments = consumer_arguments(options, group, poll_records)
    consumer = _opened(KafkaConsumer, arguments | {"group_instance_id": worker or None})
    guard(consumer, options.decompressed_bytes)
    return consumer


class Reader(Closing):
    """The base of what reads topics, over one consumer that `_open` connects. Not thread-safe."""

    silence_s = 15.0  # without a record for so long, ask whether the broker still answers
    probe_ms = 5_000
    poll_records = POLL_RECORDS

    def __init__(self, options: KafkaOptions) -> None:
        self._options = options
        self._timeout_ms = int(options.request_timeout_s * 1000)
        self._consumer: KafkaConsumer | None = None
        self._heard = monotonic()

    def close(self) -> None:
        """Disconnect without a commit; that a broker is not there to hear it is no error."""
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
        """All partitions of a topic (its full name).

        Raises BrokerError when there is no such topic, ConfigurationError where we may not see it.
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
        """Ask the broker for an offset where no record came for `silence_s`.

        An empty poll does not tell whether it still answers.
        """
        if not heard and monotonic() - self._heard > self.silence_s:
            consumer.beginning_offsets([place], timeout_ms=self.probe_ms)
            heard = True
        if heard:
            self._heard = monotonic()


def leave_group(options: KafkaOptions) -> None:
    """Take a worker with a name of its own out of its group, or else its partitions wait for it.

    Closing a consumer does this for workers without a name only. What fails is left to the session
    timeout.
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
    """Poll until something comes, for at most `wait_s`, without keeping a core busy.

    A poll that waits asks again as soon as the broker answers "nothing yet". Brokers should let
    such a question wait; some do not, and an idle job would spin.

    While the group is `joining` a poll does wait, and longer than asked: kafka-python forgets a
    join that ends between two polls and starts the next, so that short polls can go on for ever.
    Where it began to join because the topic's partitions have changed, it does not even start the
    next: it would stay out of the group, without a record or an error, if it was not told to.
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
    """Turn kafka-python's errors into BrokerError, or ConfigurationError where waiting is no use.

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
    """Return what every client takes; holds the password, so never log it."""
    request_ms = int(options.request_timeout_s * 1000)
    return {
        "bootstrap_servers": [part.strip() for part in options.bootstrap.split(",")],
        "client_id": "radarstream",
        "request_timeout_ms": request_ms,
        "connections_max_idle_ms": request_ms + 9 * 60_000,
        "metadata_max_age_ms": 60_000,  # notice new partitions, or a topic created anew
        "reconnect_backoff_max_ms": 2_000,  # soon after a broker came back
        "bootstrap_timeout_ms": min(request_ms, 10_000),
        # Largest answer that is read at all; a topic's records must stay below.
        "receive_message_max_bytes": 4 * options.written_bytes + FETCH_BYTES,
        "security_protocol": options.security,
    } | _security(options)


def consumer_arguments(
    options: KafkaOptions, group: str | None, poll_records: int = POLL_RECORDS
) -> dict[str, Any]:
    """Return what a consumer takes: nothing is committed or created unless it is asked for."""
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
        # They have a thread of their own, so a long batch does not stop them.
        "heartbeat_interval_ms": int(min(3.0, options.session_timeout_s / 3) * 1000),
        "fetch_min_bytes": 1,
        "fetch_max_wait_ms": 500,
        # A first record larger than either is still returned (KIP-74).
        "fetch_max_bytes": FETCH_BYTES,
        "max_partition_fetch_bytes": 2 * 2**20,
    }


def producer_arguments(options: KafkaOptions) -> dict[str, Any]:
    """Return what a producer takes: every record once and in order, on all in-sync replicas."""
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
    """Construct a client; one that cannot connect leaves no thread and no socket behind."""
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
    """Raise ConfigurationError, before anything connects: no user, password or such file."""
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
