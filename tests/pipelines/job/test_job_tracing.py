"""Traces of the job: a real driver's batches, stages, publications and commits."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from radarstream.pipelines.beam.holding import HoldBack
from radarstream.pipelines.job.answering.driver import Driver
from radarstream.pipelines.job.stopping import Stop, SystemClock
from radarstream.pipelines.job.telemetry.tracing import traced
from radarstream.pipelines.settings import JobSettings, Settings, TelemetrySettings, load_settings
from radarstream.pipelines.signals.metering import Meter
from radarstream.schemas.errors import BrokerError, ConfigurationError
from radarstream.schemas.records import LogPosition, RawRecord
from tests.wire_samples import ANSWER, DEAD_LETTER

PHRASE = "the purple canary sings at noon"


@dataclass
class Log:
    waiting: list[RawRecord]
    committed: dict[int, int] = field(default_factory=dict)

    def poll(self, **_: Any) -> list[RawRecord]:
        polled, self.waiting = self.waiting, []
        return polled

    def partitions(self) -> frozenset[int]:
        return frozenset({0})

    def unread(self) -> dict[int, int]:
        return {0: len(self.waiting)}

    def commit(self, next_offsets: Mapping[int, int]) -> None:
        self.committed.update(next_offsets)


class Silent:
    """An observer that nobody listens to."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None


class Generator:
    model_id = "scripted/1"


def record(offset: int) -> RawRecord:
    payload = PHRASE.encode()
    return RawRecord("e/search.snapshots/0", offset, payload, log=LogPosition("e", 0, offset))


def make_driver(log: Log, meter: Meter, *, in_thread: bool = False) -> Driver:
    def stages() -> None:
        with meter.stage("atomic answers"):
            pass
        with meter.stage("relations"):
            pass

    def batch(records: Sequence[RawRecord]) -> list[Any]:
        if in_thread:
            thread = Thread(target=stages)
            thread.start()
            thread.join()
        else:
            stages()
        return [ANSWER, DEAD_LETTER]

    stop = Stop()
    return Driver(
        log=log,
        batch=batch,
        publish=lambda lanes: 5,
        park=lambda record, refusal: DEAD_LETTER,
        holding=HoldBack(0.0, lambda record: 0.0),
        clock=SystemClock(stop),
        observer=Silent(),
        settings=JobSettings(attempts=2, first_pause_s=0.001, batch_seconds=0.001),
        stopping=stop,
    )


def make_settings(*, traces: bool = True) -> Settings:
    settings = load_settings(profile="scripted", kafka={"topic_prefix": "t.", "group": "g"})
    return settings.model_copy(update={"telemetry": TelemetrySettings(traces=traces)})


@pytest.mark.parametrize("in_thread", [False, True])
def test_a_step_is_traced_from_batch_to_commit(in_thread: bool) -> None:
    log, meter, exporter = Log([record(7), record(8)]), Meter(), InMemorySpanExporter()
    driver = make_driver(log, meter, in_thread=in_thread)
    with traced(driver, meter.observers, make_settings(), Generator(), exporter):
        driver.step()
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert list(spans) == [
        "atomic answers",
        "relations",
        "process t.search.snapshots",
        "send",
        "commit t.search.snapshots",
    ]
    batch = spans["process t.search.snapshots"]
    assert batch.kind is SpanKind.CONSUMER
    assert dict(batch.attributes) == {
        "messaging.system": "kafka",
        "messaging.destination.name": "t.search.snapshots",
        "messaging.consumer.group.name": "g",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.batch.message_count": 2,
        "radarstream.answers": 1,
        "radarstream.dead_letters": 1,
    }
    stage = spans["atomic answers"]
    assert stage.parent.span_id == batch.context.span_id
    assert dict(stage.attributes) == {
        "radarstream.stage": "atomic answers",
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "scripted/1",
    }
    assert dict(spans["relations"].attributes) == {"radarstream.stage": "relations"}
    assert spans["send"].kind is SpanKind.PRODUCER
    assert spans["send"].attributes["messaging.batch.message_count"] == 5
    assert spans["commit t.search.snapshots"].attributes["messaging.operation.type"] == "settle"
    assert batch.resource.attributes["service.name"] == "radarstream"
    assert log.committed == {0: 9}
    assert PHRASE not in "".join(span.to_json() for span in spans.values())


def test_an_idle_step_leaves_no_span() -> None:
    meter, exporter = Meter(), InMemorySpanExporter()
    driver = make_driver(Log([]), meter)
    driver.publish = lambda lanes: 0
    with traced(driver, meter.observers, make_settings(), Generator(), exporter):
        driver.step()
    assert exporter.get_finished_spans() == ()


def test_failures_are_told_by_class_alone() -> None:
    meter, exporter = Meter(), InMemorySpanExporter()
    driver = make_driver(Log([record(7)]), meter)
    failing = iter([True, False])

    def publish(lanes: frozenset[int]) -> int:
        if next(failing):
            raise BrokerError(PHRASE)
        return 1

    driver.publish = publish
    with traced(driver, meter.observers, make_settings(), Generator(), exporter):
        driver.step()
        with pytest.raises(KeyError), meter.stage("relations"):
            raise KeyError(PHRASE)
    spans = exporter.get_finished_spans()
    failed = [span for span in spans if span.status.status_code is StatusCode.ERROR]
    assert [(span.name, span.attributes["error.type"]) for span in failed] == [
        ("send", "radarstream.schemas.errors.BrokerError"),
        ("relations", "KeyError"),
    ]
    assert [span.name for span in spans].count("send") == 2
    assert "canary" not in "".join(span.to_json() for span in spans)


def test_everything_is_put_back() -> None:
    meter = Meter()
    driver = make_driver(Log([]), meter)
    before = driver.batch, driver.publish, driver.log
    with traced(driver, meter.observers, make_settings(), Generator(), InMemorySpanExporter()):
        assert driver.log is not before[2]
    assert (driver.batch, driver.publish, driver.log) == before
    assert meter.observers == []


def test_without_traces_the_driver_stays_as_it_is() -> None:
    meter = Meter()
    driver = make_driver(Log([]), meter)
    batch = driver.batch
    with traced(driver, meter.observers, make_settings(traces=False), Generator()):
        assert driver.batch is batch
        assert meter.observers == []


def test_without_traces_opentelemetry_is_not_imported() -> None:
    code = """
import sys
from radarstream.pipelines.job.telemetry.tracing import traced
from radarstream.pipelines.settings import load_settings
with traced(None, [], load_settings(profile="scripted"), None):
    pass
assert not [name for name in sys.modules if name.startswith("opentelemetry.sdk")], "imported"
assert not [name for name in sys.modules if name.startswith("opentelemetry.exporter")], "imported"
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60.0)


def test_a_missing_library_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    meter = Meter()
    driver = make_driver(Log([]), meter)
    with (
        pytest.raises(ConfigurationError, match=r"radarstream\[otel\]"),
        traced(driver, meter.observers, make_settings(), Generator(), InMemorySpanExporter()),
    ):
        pass
