"""The containers of compose and Kubernetes as processes: they get ready, work, and stop in time.

Models are scripted; broker, database, certificate, passwords, commands and probes are real.
"""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from tests.brokers import running_broker
from tests.clocks import until
from tests.connectors.search.search_server import KEY
from tests.connectors.search.search_server import serve as serving_searches
from tests.deployed_processes import (
    CONFINES,
    READY_S,
    SCRIPTED,
    Machine,
    composed,
    live_here,
    orchestrated,
    settings_here,
    variables_of,
)
from tests.deployment_files import INFRA, OWN, SERVICES, templates
from tests.engines.artifacts import java, missing
from tests.postgresql import PostgresqlServer
from tests.programs import started
from tests.servers import Server, free_port, listens
from tests.webhook_receiver import receiving

pytestmark = pytest.mark.long

STAYING = sorted(OWN - {"topics", "submission"})
DATABASES = {
    "postgresql://radarstream@postgres/radarstream",
    "postgresql://radarstream@postgres.data.svc/radarstream",
}
SAYS = {"alerts": "alerting"}  # where there is no probe
PORTS = {  # of containers, and the ones that take their place
    **{f"{host}:9464": "127.0.0.1:{telemetry}" for host in ("0.0.0.0", "127.0.0.1")},  # noqa: S104
    **{f"{host}:8080": "127.0.0.1:{serving}" for host in ("0.0.0.0", "127.0.0.1")},  # noqa: S104
    "--service_port=50000": "--service_port={pool}",
    "('127.0.0.1', 50000)": "('127.0.0.1', {pool})",
}


@pytest.fixture(scope="module")
def infra(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the deployment files with secrets of its own, and the keys that users fill in."""
    folder = tmp_path_factory.mktemp("deployed") / "infra"
    shutil.copytree(INFRA, folder, ignore=shutil.ignore_patterns("*.env", "tls"))
    subprocess.run([folder / "secrets.sh"], check=True, capture_output=True)
    for file in (folder / "env").glob("*.env"):
        text = re.sub(r"^(\w+(?:KEY|SECRET))=$", rf"\1={KEY}", file.read_text("utf-8"), flags=re.M)
        file.write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def outside() -> Iterator[dict[str, str]]:
    """What is on the internet, as settings: a search service and a webhook."""
    with serving_searches() as search, receiving() as webhook:
        yield {
            "RADARSTREAM_SEARCH__BASE_URL": search.url,
            "RADARSTREAM_ALERTS__WEBHOOK__URL": webhook.url,
        }


class ComposedKafka(Server):
    """The service `kafka` of compose: its script, settings, certificate and password.

    The programs that its image has are scripts around classes; those are called.
    """

    name = "the service kafka"

    def __init__(self, directory: Path, infra: Path) -> None:
        super().__init__(directory)
        self.port = free_port()
        replaced = {
            "CLIENT://:9092": f"CLIENT://127.0.0.1:{self.port}",
            "kafka:9092": f"kafka:{self.port}",
            **{f"127.0.0.1:{port}": f"127.0.0.1:{free_port()}" for port in (9093, 9094)},
            "/etc/radarstream": str(directory),
            "/var/lib/kafka/data": str(directory / "data"),
            "/opt/kafka/bin": str(directory),
        }
        directory.mkdir()
        machine = Machine(directory, replaced)
        for volume in SERVICES["kafka"]["volumes"]:
            source, _, target = volume.partition(":")
            if source.startswith("./"):
                text = machine.here((infra / source).read_text("utf-8"))
                (directory / Path(target.split(":")[0]).name).write_text(text, encoding="utf-8")
        for program, main in (
            ("kafka-storage.sh", "kafka.tools.StorageTool"),
            ("kafka-server-start.sh", "kafka.Kafka"),
        ):
            words = java("kafka", main, options=("-Xmx400m", "-XX:TieredStopAtLevel=1"))
            (directory / program).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
            (directory / program).chmod(0o755)
        self.words = [machine.here(word) for word in SERVICES["kafka"]["command"]]
        self.environment = variables_of(infra / "env" / "kafka.env") | {"PATH": "/usr/bin:/bin"}

    def command(self) -> list[str]:
        return self.words

    def ready(self) -> bool:
        return listens(self.port)


def machine_with(
    directory: Path, server: PostgresqlServer, outside: dict[str, str], broker: dict[str, str]
) -> Machine:
    """A machine with a database and places for every port."""
    directory.mkdir(exist_ok=True)
    numbers = {"telemetry": free_port(), "serving": free_port(), "pool": free_port()}
    places = {old: new.format(**numbers) for old, new in PORTS.items()}
    url = server.new_database()
    return Machine(directory, places | broker | dict.fromkeys(DATABASES, url), SCRIPTED | outside)


@pytest.fixture(scope="module")
def compose(infra, outside, shared_postgresql, tmp_path_factory) -> Iterator[Machine]:
    """Compose's Kafka with its topics, and the database."""
    if reason := missing("kafka"):
        pytest.skip(reason)
    directory = tmp_path_factory.mktemp("compose")
    kafka = ComposedKafka(directory / "kafka", infra)
    places = {"kafka:9092": f"kafka:{kafka.port}"}
    for service in SERVICES.values():
        for volume in service.get("volumes", []):
            source, target, *_ = volume.split(":")
            if source.startswith("./") and (infra / source).is_file():
                places[target] = str(infra / source)
    machine = machine_with(directory, shared_postgresql, outside, places)
    try:
        kafka.start()
        with machine.running("topics", composed("topics", infra)) as topics:
            assert topics.program.wait(60) == 0, topics.said()
        yield machine
    finally:
        process = kafka.process
        kafka.stop(30)
    assert process
    assert process.returncode == 143, "the script hands the signal on, and the broker ends itself"


@pytest.mark.parametrize("name", STAYING)
def test_a_service_of_compose_gets_ready_and_stops(name, compose, infra) -> None:
    with compose.running(name, composed(name, infra)) as deployed:
        deployed.until_ready(SAYS.get(name, ""))
        assert deployed.stop() == 0, deployed.said()


def test_what_the_collector_of_compose_finds_is_answered_by_its_worker(compose, infra) -> None:
    """Two containers have a port 9464 each: the second machine has its own."""
    port = f"127.0.0.1:{free_port()}"
    places = compose.replaced | {"0.0.0.0:9464": port, "127.0.0.1:9464": port}
    beside = Machine(compose.directory, places, compose.variables)
    worker, watcher = composed("worker", infra), composed("watcher", infra)
    with compose.running("worker", worker) as answering, beside.running("watcher", watcher):
        answering.until_ready()
        metrics = f"http://{compose.replaced['0.0.0.0:9464']}/metrics"

        def answered() -> bool:
            with urlopen(metrics, timeout=5) as response:
                told = response.read().decode()
            return bool(re.search(r"^radarstream_answers_total\{.*\} [1-9]", told, re.M))

        until(answered, READY_S, answering.said)


@pytest.fixture(scope="module")
def cluster(infra, outside, shared_postgresql, tmp_path_factory) -> Iterator[Machine]:
    """What the pods find: settings, a database, and a broker without passwords, with its topics."""
    directory = tmp_path_factory.mktemp("cluster")
    with running_broker("noida", directory / "broker") as broker:
        broker_here = {"kafka.data.svc:9093": broker.bootstrap}
        machine = machine_with(directory, shared_postgresql, outside, broker_here)
        machine.variables |= {
            "RADARSTREAM_KAFKA__SECURITY": "PLAINTEXT",
            "RADARSTREAM_KAFKA__REPLICATION": "1",
            "RADARSTREAM_ATTRIBUTION__ENABLED": "true",
        }
        machine.replaced["/etc/radarstream"] = str(settings_here(machine))
        topics = orchestrated(templates()["radarstream-worker"]["spec"], "topics", infra)
        with machine.running("topics", topics) as first:
            assert first.program.wait(60) == 0, first.said()
        yield machine


def ours() -> Iterator[tuple[str, str]]:
    """Every container of our image that stays up, by its pod."""
    for pod, template in templates().items():
        spec: dict[str, Any] = template["spec"]
        for container in spec["containers"]:
            if container.get("image") == "radarstream" and container["name"] != "submission":
                yield pod, container["name"]


@pytest.mark.parametrize(("pod", "name"), list(ours()))
def test_a_container_of_kubernetes_gets_ready_and_stops(pod, name, cluster, infra) -> None:
    spec = templates()[pod]["spec"]
    with cluster.running(name, orchestrated(spec, name, infra)) as deployed:
        deployed.until_ready(SAYS.get(name, ""))
        assert deployed.stop() == 0, deployed.said()


@pytest.mark.skipif(not CONFINES, reason="processes may not have mounts of their own here")
def test_a_container_writes_to_its_home_only(tmp_path: Path) -> None:
    home, beside = tmp_path / "home", tmp_path / "beside"
    home.mkdir()
    program = tmp_path / "program.py"
    program.write_text(
        f"from pathlib import Path\nPath('{home}/inside').touch()\nPath('{beside}').touch()\n"
    )
    first = partial(live_here, str(home))
    with started(module=str(program), out=tmp_path / "log", first=first) as running:
        assert running.wait(60) == 1
    assert "Read-only file system" in (tmp_path / "log").read_text()
    assert (home / "inside").exists()
    assert not beside.exists()
