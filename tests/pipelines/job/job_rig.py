"""The continuous job in this process: the real wiring, a real broker, no signals."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from radarstream.connectors.kafka.options import KafkaOptions
from radarstream.pipelines.job.answering import running
from radarstream.pipelines.job.stopping import Stop
from radarstream.pipelines.settings import Settings, load_settings
from tests.builders import GIVE_ALL
from tests.clocks import until

Logged = list[dict[str, Any]]


def settings_for(options: KafkaOptions, database: Path, **sections: Any) -> Settings:
    """Scripted models, a SQLite file, a port of its own."""
    return load_settings(
        profile="scripted",
        database=f"sqlite:///{database}",
        kafka=options.model_dump(exclude_defaults=True),
        telemetry={"listen": "127.0.0.1:0"},
        **{"defense": GIVE_ALL, **sections},
    )


def drained(settings: Settings, *, start_over: bool = False) -> Logged:
    """Run the job to the end of the topic; return what it logged."""
    with (
        capture_logs() as logged,
        running.opened_job(settings, Stop(), start_over=start_over, patient=False) as driver,
    ):
        driver.run(drain=True)
    return [dict(line) for line in logged]


class Running:
    """What Prometheus, a load balancer and a reader of the log see of a job.

    `failure` is what ended it, if anything did.
    """

    def __init__(self, logged: Any) -> None:
        self.logged = logged
        self.failure: Exception | None = None
        self.ended = Event()

    def lines(self, event: str) -> Logged:
        return [line for line in list(self.logged) if line["event"] == event]

    def wait_for(self, event: str, count: int = 1) -> dict[str, Any]:
        until(lambda: len(self.lines(event)) >= count)
        return self.lines(event)[-1]

    def get(self, path: str) -> tuple[int, str]:
        port = self.lines("telemetry listens")[-1]["port"]
        connection = HTTPConnection("127.0.0.1", port, timeout=10.0)
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()

    def sum(self, name: str) -> float:
        families = text_string_to_metric_families(self.get("/metrics")[1])
        return sum(s.value for family in families for s in family.samples if s.name == name)

    @property
    def lag(self) -> float:
        return self.sum("radarstream_consumer_lag_records")

    @property
    def committed_at(self) -> float:
        return self.sum("radarstream_last_commit_timestamp_seconds")


@contextmanager
def running_job(settings: Settings) -> Iterator[Running]:
    """The job, until the context ends."""
    stop = Stop()
    with capture_logs() as logged, running.opened_job(settings, stop) as driver:
        job = Running(logged)

        def run() -> None:
            try:
                driver.run()
            except Exception as error:  # noqa: BLE001 the test looks at it
                job.failure = error
            job.ended.set()

        loop = Thread(target=run)
        loop.start()
        try:
            yield job
        finally:
            stop.event.set()
            loop.join(60.0)
