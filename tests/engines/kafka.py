"""Apache Kafka in KRaft mode: one node, or three that replicate."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from radarstream.connectors.kafka.options import KafkaOptions
from tests.brokers import Broker
from tests.engines.artifacts import java
from tests.servers import free_port

CLUSTER_ID = "cmFkYXJzdHJlYW0tdGVzdA"  # 16 bytes as unpadded base64
HEAP = "-Xmx400m"
# A node is killed after seconds: the compiler that starts quickly serves better.
QUICK = (HEAP, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")


class KafkaNode(Broker):
    """One node, broker and controller at once; alone, or one of `voters` (id: controller port).

    `extra` are further lines of its properties. What it acknowledged survives SIGKILL: it is in
    the operating system's memory by then.
    """

    name = "kafka"

    def __init__(
        self,
        directory: Path,
        node: int = 1,
        voters: Mapping[int, int] | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(directory)
        self.node = node
        self.voters = voters or {node: free_port()}
        self.extra = extra or {}

    def properties(self) -> dict[str, str]:
        """Its settings, as in `server.properties`."""
        copies = str(len(self.voters))
        internal = ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic")
        inside = {f"{topic}.replication.factor": copies for topic in internal}
        quorum = ",".join(f"{node}@127.0.0.1:{port}" for node, port in self.voters.items())
        controller = f"CONTROLLER://127.0.0.1:{self.voters[self.node]}"
        return {
            "process.roles": "broker,controller",
            "node.id": str(self.node),
            "controller.quorum.voters": quorum,
            "controller.listener.names": "CONTROLLER",
            "listeners": f"PLAINTEXT://{self.bootstrap},{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.bootstrap}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self.directory / "data"),
            "offsets.topic.num.partitions": "3",
            "group.initial.rebalance.delay.ms": "0",
            "group.min.session.timeout.ms": "1000",
            # A killed node that comes back waits until the controller has missed the old one.
            "broker.session.timeout.ms": "2000",
            "broker.heartbeat.interval.ms": "500",
            **inside,
            **self.extra,
        }

    def command(self) -> list[str]:
        return java("kafka", "kafka.Kafka", str(self.settings), options=QUICK)

    @property
    def settings(self) -> Path:
        """The file of its settings."""
        return self.directory / "server.properties"

    def launch(self) -> None:
        """Write its settings, format its storage at the first start, and start it."""
        self.directory.mkdir(parents=True, exist_ok=True)
        lines = [f"{name}={value}" for name, value in self.properties().items()]
        self.settings.write_text("\n".join(lines) + "\n", encoding="utf-8")
        if not (self.directory / "data" / "meta.properties").exists():
            self.format_storage()
        super().launch()

    def format_storage(self, *arguments: str) -> None:
        """Prepare its data directory; `arguments` such as --add-scram."""
        where = ("--cluster-id", CLUSTER_ID, "--config", str(self.settings))
        tool = java("kafka", "kafka.tools.StorageTool", "format", *where, *arguments, options=QUICK)
        subprocess.run(tool, check=True, capture_output=True, cwd=self.directory)

    def save(self) -> None:
        """Nothing to wait for."""


class KafkaCluster:
    """Several nodes, each a process with a data directory of its own; `nodes` by their id."""

    def __init__(
        self, directory: Path, nodes: int = 3, extra: Mapping[str, str] | None = None
    ) -> None:
        voters = {node: free_port() for node in range(1, nodes + 1)}
        self.nodes = {
            node: KafkaNode(directory / f"kafka-{node}", node, voters, extra) for node in voters
        }

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes.values())

    def options(self, **given: object) -> KafkaOptions:
        """Settings for this cluster with short time-outs, every record on each node."""
        copies = {"bootstrap": self.bootstrap, "replication": len(self.nodes)}
        return self.nodes[1].options(**(copies | given))

    def start(self) -> None:
        """Start every node: they wait for each other, so all are launched first."""
        for node in self.nodes.values():
            node.launch()
        for node in self.nodes.values():
            node.until_ready()

    def kill(self) -> None:
        """SIGKILL to every node."""
        for node in self.nodes.values():
            node.kill()
