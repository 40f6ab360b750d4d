"""What the workers run on in a chaos run: brokers, a state database, and how both are killed."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from random import Random
from threading import Lock
from types import MappingProxyType

from radarstream.connectors.kafka.clients import open_admin
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.source import SNAPSHOTS
from radarstream.connectors.state_table.database.engine import sqlite_url
from tests.brokers import Broker, running_broker
from tests.clocks import until
from tests.end_to_end.running_job import Job
from tests.engines.kafka import KafkaCluster
from tests.postgresql import PostgresqlServer, running_server
from tests.servers import running

# Members of a group that the broker misses as soon as it may by default.
GROUP: Mapping[str, str] = MappingProxyType(
    {"RADARSTREAM_JOB__MEMBERSHIP": "group", "RADARSTREAM_KAFKA__SESSION_TIMEOUT_S": "6"}
)
IN_SYNC_S = 60.0


class Ground(ABC):
    """Brokers and databases. `variables` are those of every worker in the chaos."""

    broker: Broker | KafkaCluster
    server: PostgresqlServer | None = None
    variables: Mapping[str, str] = MappingProxyType({})

    def new_database(self, directory: Path) -> str:
        """The URL of a database with nothing in it; without a server, of a file in `directory`."""
        return self.server.new_database() if self.server else sqlite_url(directory / "state.db")

    def kill_database(self, pause_s: float, note: Callable[[], object] = int) -> None:
        """SIGKILL the database server, and start it after this time; `note` it twice while down."""
        assert self.server is not None
        self.server.kill()
        note()
        time.sleep(pause_s)
        note()  # somebody may have asked a model when the server died, to store the answer after
        self.server.start()

    @abstractmethod
    def kill_broker(
        self, options: KafkaOptions, jobs: Sequence[Job], gate: Lock, random: Random
    ) -> int | None:
        """SIGKILL a broker; return a partition of the snapshots that it led, None: all.

        The workers and the producer, by its gate, are held for a moment if the broker needs it.
        """

    @abstractmethod
    def mend_broker(self, options: KafkaOptions) -> None:
        """Start again what was killed, where that is still to be done."""

    @abstractmethod
    def freeze_broker(
        self, options: KafkaOptions, pause_s: float, gate: Lock, random: Random
    ) -> None:
        """Let a broker stand still for this time."""


class OneBroker(Ground):
    """A broker that saves late if at all, and PostgreSQL or a file."""

    def __init__(self, broker: Broker, server: PostgresqlServer | None = None) -> None:
        self.broker: Broker = broker
        self.server = server

    def kill_broker(
        self, options: KafkaOptions, jobs: Sequence[Job], gate: Lock, random: Random
    ) -> None:
        """Kill it with nothing acknowledged but unsaved, and start it again.

        Nothing may be written while it saves.
        """
        with ExitStack() as standing_still:
            standing_still.enter_context(gate)
            for job in jobs:
                standing_still.enter_context(job.held())
            self.broker.save()
            self.broker.kill()
        time.sleep(0.3)  # let all notice
        self.broker.start()

    def mend_broker(self, options: KafkaOptions) -> None:
        """It runs again already."""

    def freeze_broker(
        self, options: KafkaOptions, pause_s: float, gate: Lock, random: Random
    ) -> None:
        with gate:  # a producer that gives up and tries again would publish twice
            self.broker.freeze()
            time.sleep(pause_s)
            self.broker.thaw()


class ThreeNodes(Ground):
    """Three nodes of Apache Kafka, every record on at least two of them, and PostgreSQL."""

    variables = GROUP

    def __init__(self, cluster: KafkaCluster, server: PostgresqlServer) -> None:
        self.broker: KafkaCluster = cluster
        self.server: PostgresqlServer = server

    def kill_broker(
        self, options: KafkaOptions, jobs: Sequence[Job], gate: Lock, random: Random
    ) -> int:
        """Kill the leader of a partition while everybody works."""
        partition = random.randrange(options.partitions)
        self.broker.nodes[leaders(options)[partition]].kill()
        return partition

    def mend_broker(self, options: KafkaOptions) -> None:
        """Start the dead node, and wait until it has caught up: one more dies only then."""
        for node in self.broker.nodes.values():
            if not node.running:
                node.start()
        until(lambda: in_sync(options, len(self.broker.nodes)), IN_SYNC_S)

    def freeze_broker(
        self, options: KafkaOptions, pause_s: float, gate: Lock, random: Random
    ) -> None:
        """The leader of a partition stands still: others take over, and it finds out later."""
        node = self.broker.nodes[leaders(options)[random.randrange(options.partitions)]]
        node.freeze()
        time.sleep(pause_s)
        node.thaw()
        self.mend_broker(options)


@contextmanager
def noida_on_sqlite(directory: Path) -> Iterator[OneBroker]:
    """The small broker of the tests and a database in a file."""
    with running_broker("noida", directory / "broker") as broker:
        yield OneBroker(broker)


@contextmanager
def tansu_on_postgresql(directory: Path) -> Iterator[OneBroker]:
    """A broker that keeps its data in memory, and PostgreSQL."""
    with running_server() as server, running_broker("tansu", directory / "broker") as broker:
        yield OneBroker(broker, server)


@contextmanager
def kafka_on_postgresql(directory: Path) -> Iterator[ThreeNodes]:
    """Apache Kafka that acknowledges what two of three nodes have, and PostgreSQL."""
    safe = {"min.insync.replicas": "2"}
    with running_server() as server, running(KafkaCluster(directory, 3, safe)) as cluster:
        yield ThreeNodes(cluster, server)


def leaders(options: KafkaOptions) -> dict[int, int]:
    """The node that leads each partition of the snapshots."""
    with closing(open_admin(options)) as admin:
        topic = admin.describe_topics([options.topic(SNAPSHOTS)])[0]
    return {p["partition_index"]: p["leader_id"] for p in topic["partitions"]}


def in_sync(options: KafkaOptions, copies: int) -> bool:
    """Whether every partition of every topic has so many copies that are up to date."""
    with closing(open_admin(options)) as admin:
        topics = admin.describe_topics()
    return all(len(p["isr_nodes"]) == copies for topic in topics for p in topic["partitions"])
