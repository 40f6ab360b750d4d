"""What the workers run on in a chaos run: brokers, a state database, and how both are killed."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from random import Random
from threading import Lock
from types import MappingProxyType

from radarstream.connectors.kafka.clients import open_admin
from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.source import SNAPSHOTS
from radarstream.connectors.state_table.database.engine import sqlite_url
from tests.brokers import Broker, running_broker
from tests.chaos.arena import until
from tests.end_to_end.running_job import Job
from tests.engines.kafka import KafkaCluster, running_cluster
from tests.postgresql import PostgresqlServer, running_server

GROUP: Mapping[str, str] = MappingProxyType({"RADARSTREAM_JOB__MEMBERSHIP": "group"})
IN_SYNC_S = 60.0


class Ground(ABC):
    """Brokers and databases. `variables` are those of every worker in the chaos."""

    broker: Broker | KafkaCluster
    variables: Mapping[str, str] = MappingProxyType({})

    @abstractmethod
    def new_database(self, directory: Path) -> str:
        """The URL of a database with nothing in it; a file of it would be in `directory`."""

    @abstractmethod
    def kill_broker(self, options: KafkaOptions, job: Job, gate: Lock, random: Random) -> int:
        """SIGKILL a broker; return a partition of the snapshots that it led."""

    @abstractmethod
    def mend_broker(self, options: KafkaOptions) -> None:
        """Start again what was killed, where that is still to be done."""

    def kill_database(self, pause_s: float) -> None:
        """SIGKILL the database server, and start it after this time."""
        raise NotImplementedError


class OneBroker(Ground):
    """A broker that saves late, and SQLite."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Broker = broker

    def new_database(self, directory: Path) -> str:
        return sqlite_url(directory / "state.db")

    def kill_broker(self, options: KafkaOptions, job: Job, gate: Lock, random: Random) -> int:
        """Kill it with nothing acknowledged but unsaved, and start it again.

        Nothing may be written while it saves, so producer and worker are held for that moment.
        """
        with gate, job.held():
            self.broker.save()
            self.broker.kill()
        time.sleep(0.3)  # let both notice
        self.broker.start()
        return random.randrange(options.partitions)

    def mend_broker(self, options: KafkaOptions) -> None:
        """It runs again already."""


class ThreeNodes(Ground):
    """Three nodes of Apache Kafka, every record on at least two of them, and PostgreSQL."""

    def __init__(self, cluster: KafkaCluster, server: PostgresqlServer) -> None:
        self.broker: KafkaCluster = cluster
        self.server = server
        self.variables = GROUP | {"RADARSTREAM_KAFKA__WORKER": "worker-1"}

    def new_database(self, directory: Path) -> str:
        return self.server.new_database()

    def kill_broker(self, options: KafkaOptions, job: Job, gate: Lock, random: Random) -> int:
        """Kill the leader of a partition while everybody works."""
        partition = random.randrange(options.partitions)
        node = leaders(options)[partition]
        self.broker.nodes[node].kill()
        return partition

    def mend_broker(self, options: KafkaOptions) -> None:
        """Start the dead node, and wait until it has caught up: one more dies only then."""
        for node in self.broker.nodes.values():
            if not node.running:
                node.start()
        until(lambda: in_sync(options, len(self.broker.nodes)), IN_SYNC_S)

    def kill_database(self, pause_s: float) -> None:
        self.server.kill()
        time.sleep(pause_s)
        self.server.start()


@contextmanager
def noida_on_sqlite(directory: Path) -> Iterator[OneBroker]:
    """The small broker of the tests and a database in a file."""
    with running_broker("noida", directory / "broker") as broker:
        yield OneBroker(broker)


@contextmanager
def kafka_on_postgresql(directory: Path) -> Iterator[ThreeNodes]:
    """Apache Kafka that acknowledges what two of three nodes have, and PostgreSQL."""
    safe = {"min.insync.replicas": "2"}
    with running_server() as server, running_cluster(directory, 3, safe) as cluster:
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
