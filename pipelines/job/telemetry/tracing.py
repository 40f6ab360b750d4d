"""OpenTelemetry spans of the job: batches, stages, publications, commits. Optional (`otel`).

Attribute names follow OpenTelemetry's conventions for messaging and generative AI. A span holds
counts, names and classes of errors; never a document, an answer or an error's message.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import time_ns
from typing import TYPE_CHECKING, Any, Final

from radarstream.pipelines.build import naming_extra
from radarstream.pipelines.job.answering.driver import Driver, Outcome
from radarstream.pipelines.job.answering.ports import Batch, SnapshotLog
from radarstream.pipelines.job.telemetry.logs import class_name
from radarstream.pipelines.job.telemetry.registry import build
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.metering import Observer
from radarstream.schemas.codec.wire import WIRE_SCHEMAS
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import SearchSnapshot

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

GENERATING: Final = ("atomic answers", "undefended answer", "defence")  # stages that generate
Publish = Callable[[frozenset[int]], int]


@contextmanager
def traced(
    driver: Driver,
    observers: list[Observer],
    settings: Settings,
    generator: object,
    exporter: "SpanExporter | None" = None,
) -> Iterator[None]:
    """Trace a driver and a meter's stages while the context lasts, if the settings want it.

    Spans go to `exporter`, by default to where the OTEL_EXPORTER_OTLP_… variables say. Exporting
    happens in a thread of its own and its failures change nothing. Raises ConfigurationError when
    OpenTelemetry is not installed. Without traces it is not even imported.
    """
    if not settings.telemetry.traces:
        yield
        return
    with naming_extra("otel"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    named = {} if "OTEL_SERVICE_NAME" in os.environ else {SERVICE_NAME: "radarstream"}
    described = Resource.create(named | {"service.version": build()["version"]})
    provider = TracerProvider(resource=described, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter or OTLPSpanExporter()))
    spans = Spans(provider.get_tracer("radarstream"), settings, generator)
    before = driver.batch, driver.publish, driver.log
    driver.batch = spans.of_batch(driver.batch)
    driver.publish = spans.of_publication(driver.publish)
    driver.log = TracedLog(driver.log, spans)
    observers.append(spans.stage)
    try:
        yield
    finally:
        observers.remove(spans.stage)
        driver.batch, driver.publish, driver.log = before
        provider.shutdown()


class Spans:
    """Makes the job's spans. `generator` is asked for its `model_id`."""

    def __init__(self, tracer: "Tracer", settings: Settings, generator: object) -> None:
        self._tracer = tracer
        self._model = str(getattr(generator, "model_id", ""))
        self._topic = settings.kafka.topic(WIRE_SCHEMAS[SearchSnapshot].topic)
        self._source = {
            "messaging.system": "kafka",
            "messaging.destination.name": self._topic,
            "messaging.consumer.group.name": settings.kafka.group,
        }
        self._batch: Span | None = None

    def of_batch(self, batch: Batch) -> Batch:
        """Put a span around every batch; stages that run meanwhile are its children."""
        from opentelemetry.trace import SpanKind

        def traced_batch(records: Sequence[RawRecord]) -> list[Outcome]:
            attributes = self._source | {
                "messaging.operation.name": "process",
                "messaging.operation.type": "process",
                "messaging.batch.message_count": len(records),
            }
            name = f"process {self._topic}"
            with self._span(name, attributes, kind=SpanKind.CONSUMER) as span:
                self._batch = span
                try:
                    outcomes = batch(records)
                finally:
                    self._batch = None
                answers = sum(isinstance(outcome, AnswerEvent) for outcome in outcomes)
                span.set_attribute("radarstream.answers", answers)
                span.set_attribute("radarstream.dead_letters", len(outcomes) - answers)
                return outcomes

        return traced_batch

    def of_publication(self, publish: Publish) -> Publish:
        """Put a span around every publication of something; an idle job has none."""
        from opentelemetry.trace import SpanKind

        def traced_publish(lanes: frozenset[int]) -> int:
            started = time_ns()
            sent, failure = 0, None
            try:
                sent = publish(lanes)
            except Exception as error:
                failure = error
                raise
            finally:
                if sent or failure:
                    attributes: dict[str, Any] = {
                        "messaging.system": "kafka",
                        "messaging.operation.name": "send",
                        "messaging.operation.type": "send",
                        "messaging.batch.message_count": sent,
                    }
                    span = self._tracer.start_span(
                        "send", attributes=attributes, kind=SpanKind.PRODUCER, start_time=started
                    )
                    if failure:
                        mark_failed(span, failure)
                    span.end()
            return sent

        return traced_publish

    @contextmanager
    def commit(self) -> Iterator[None]:
        """Put a span around a commit of offsets."""
        from opentelemetry.trace import SpanKind

        attributes = self._source | {
            "messaging.operation.name": "commit",
            "messaging.operation.type": "settle",
        }
        with self._span(f"commit {self._topic}", attributes, kind=SpanKind.CLIENT):
            yield

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Put a span around a stage; one of a Meter's `observers`."""
        from opentelemetry.trace import set_span_in_context

        attributes = {"radarstream.stage": name}
        if name in GENERATING:
            attributes |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": self._model}
        # Named explicitly: the runner may execute a stage in another thread.
        parent = set_span_in_context(self._batch) if self._batch else None
        with self._span(name, attributes, context=parent):
            yield

    @contextmanager
    def _span(self, name: str, attributes: Mapping[str, Any], **how: Any) -> Iterator["Span"]:
        with self._tracer.start_as_current_span(
            name,
            attributes=attributes,
            record_exception=False,  # would keep its message
            set_status_on_exception=False,
            **how,
        ) as span:
            try:
                yield span
            except BaseException as error:
                mark_failed(span, error)
                raise


def mark_failed(span: "Span", error: BaseException) -> None:
    """Say that a span failed, and by which class of error."""
    from opentelemetry.trace import StatusCode

    span.set_attribute("error.type", class_name(error))
    span.set_status(StatusCode.ERROR)


class TracedLog:
    """A log whose commits have spans."""

    def __init__(self, log: SnapshotLog, spans: Spans) -> None:
        self._log = log
        self._spans = spans
        self.poll = log.poll
        self.partitions = log.partitions
        self.unread = log.unread

    def commit(self, next_offsets: Mapping[int, int]) -> None:
        """Commit within a span."""
        with self._spans.commit():
            self._log.commit(next_offsets)
