"""A chaos run in which nothing dies but connections, one in each phase of the work.

Between the worker and its servers stand proxies. They break a connection when a certain request
passes: before the server has seen it, or when the server has answered it, so that the worker cannot
know whether it was done. The worker must go on by itself.
"""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.topics import ensure_topics
from tests.chaos.arena import PATIENCE_S, Arena, Producer, story
from tests.chaos.grounds import GROUP
from tests.chaos.proxy import Cut, KafkaWire, PostgresqlWire, Proxy
from tests.chaos.run import HEALTHY_WITHIN_S, commits, compare, finish, living
from tests.chaos.trials import Outcome, Say, times
from tests.engines.kafka import KafkaCluster
from tests.postgresql import PostgresqlServer, running_server
from tests.servers import free_port

# Numbers of Kafka's kinds of requests; SQL as the state table's functions send it.
PHASES = {
    "poll": r"kafka 1$",
    "heartbeat in the group": r"kafka 12$",
    "publication": r"kafka 0$",
    "offset commit": r"kafka 8$",
    "read of the memory": r"^SELECT .*FROM memory",
    "write of the memory": r"^(INSERT INTO|UPDATE) memory",
    "commit of a fold": r"^COMMIT (INSERT INTO|UPDATE) memory",
    "read of the outbox": r"^SELECT outbox\.seq.*FROM outbox",
    "mark-sent": r"^DELETE FROM outbox",
    "commit of mark-sent": r"^COMMIT DELETE FROM outbox",
    "read of the response cache": r"^SELECT .*FROM response_cache",
    "write of the response cache": r"^INSERT INTO response_cache",
    "commit of the response cache": r"^COMMIT INSERT INTO response_cache",
}


@dataclass(frozen=True)
class Size:
    """Each phase is cut so often before the server sees the request, and so often after."""

    snapshots: int = 2_000
    queries: int = 25
    cuts: int = 3
    seed: int = 0


SHORT = Size(snapshots=600, queries=8, cuts=1)


def run_lost_connections(size: Size, directory: Path, say: Say) -> Outcome:
    """Break a worker's connections in every phase, and compare with an undisturbed run."""
    began = time.monotonic()
    cluster = KafkaCluster(directory, 3, {"min.insync.replicas": "2"})
    with (
        running_server() as server,
        proxies_to_kafka(cluster) as to_kafka,
        proxy_to(server) as to_database,
    ):
        direct = cluster.options(topic_prefix="chaos.", group="chaos")
        database = server.new_database()
        arena = Arena(
            cluster,
            through(to_kafka, direct),
            directory,
            past(to_database, database, server),
            GROUP | {"RADARSTREAM_KAFKA__WORKER": "worker-1"},
        )
        snapshots = story(size.snapshots, size.queries)
        producer = Producer(direct, list(snapshots))
        ensure_topics(direct)
        order = [(phase, late) for phase in PHASES for late in (False, True)] * size.cuts
        Random(size.seed).shuffle(order)
        cuts = dict.fromkeys(PHASES, 0)
        recovered = []
        with living(arena) as job:
            for number, (phase, answered) in enumerate(order, start=1):
                when = "answer lost" if answered else "request lost"
                say(f"cut {number} of {len(order)}: {phase}, {when}")
                cut = Cut(re.compile(PHASES[phase], re.DOTALL), answered)
                for proxy in (*to_kafka, to_database):
                    proxy.arm(cut)
                publish_until(producer, cut.done.is_set)
                began_again, before = time.monotonic(), commits(job)
                publish_until(producer, lambda: commits(job) > before)  # noqa: B023 called at once
                recovered.append(time.monotonic() - began_again)
                cuts[phase] += 1
            exit_code = job.terminate()
        finish(arena, producer, say)
        found = compare(arena, snapshots, server.new_database(), say)
    recovery = times(recovered)
    figures = {
        "connections_lost": cuts,
        "findings": found.as_rows(),
        "committed_again": recovery,
        "exit_code": exit_code,
        "seconds": time.monotonic() - began,
    }
    quick = recovery["longest_s"] <= HEALTHY_WITHIN_S
    return Outcome(size, found.sound and quick and exit_code == 0, figures)


def publish_until(producer: Producer, condition: Callable[[], bool]) -> None:
    """Give a worker something to do until this holds; AssertionError when it does not come."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        assert producer.waiting, "there is nothing left to do"
        producer.publish(4)
        soon = time.monotonic() + 1.0
        while not condition() and time.monotonic() < soon:
            time.sleep(0.05)


@contextmanager
def proxies_to_kafka(cluster: KafkaCluster) -> Iterator[list[Proxy]]:
    """Start a cluster that has a second listener behind a proxy on every node.

    Who begins at a proxy is sent to the others' proxies, who begins at a node to the nodes.
    """
    proxies = []
    for node in cluster.nodes.values():
        inside = ("127.0.0.1", free_port())
        proxies.append(Proxy(("127.0.0.1", free_port()), inside, KafkaWire))
        given = node.properties()
        node.extra = {
            **node.extra,
            "listeners": f"{given['listeners']},PROXIED://{address(inside)}",
            "advertised.listeners": (
                f"{given['advertised.listeners']},PROXIED://{address(proxies[-1].listen)}"
            ),
            "listener.security.protocol.map": (
                f"{given['listener.security.protocol.map']},PROXIED:PLAINTEXT"
            ),
        }
    try:
        cluster.start()
        yield proxies
    finally:
        cluster.kill()
        for proxy in proxies:
            proxy.close()


@contextmanager
def proxy_to(server: PostgresqlServer) -> Iterator[Proxy]:
    """A proxy with the name of PostgreSQL's socket in another directory."""
    with TemporaryDirectory(prefix="cut-", dir="/tmp") as directory:  # a path of 107 bytes at most
        name = ".s.PGSQL.5432"
        listen, target = str(Path(directory) / name), str(Path(server.socket) / name)
        proxy = Proxy(listen, target, PostgresqlWire)
        try:
            yield proxy
        finally:
            proxy.close()


def past(proxy: Proxy, database: str, server: PostgresqlServer) -> str:
    """The URL of the same database, reached past a proxy."""
    return database.replace(server.socket, str(Path(str(proxy.listen)).parent))


def through(proxies: list[Proxy], options: KafkaOptions) -> KafkaOptions:
    """The same cluster, begun at its proxies."""
    bootstrap = ",".join(address(proxy.listen) for proxy in proxies)
    return options.model_copy(update={"bootstrap": bootstrap})


def address(place: tuple[str, int] | str) -> str:
    """A TCP address as host:port."""
    return f"{place[0]}:{place[1]}"
