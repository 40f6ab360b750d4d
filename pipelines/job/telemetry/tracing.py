"""OpenTelemetry spans of the job: batches, stages, publications, commits. Optional (`otel`).

Attribute names follow OpenTelemetry's conventions for messaging and generative AI. A span holds
counts, names and classes of errors; never a document, an answer or an error's message.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import time_ns
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from radarstream.pipelines.build import naming_extra
from radarstream.pipelines.job.answering.driver import Driver
from radarstream.pipelines.job.answering.ports import Batch, Outcome, Publish, SnapshotLog
from radarstream.pipelines.job.telemetry.logs import class_name
from radarstream.pipelines.job.telemetry.metrics import build
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
COUNT: Final = "messaging.batch.message_count"


@contextmanager
def traced(
    driver: Driver,
    observers: list[Observer],
    settings: Settings,
    generator: object,
    exporter: "SpanExporter | None" = None,
) -> Iterator[None]:
    """Trace a driver and a meter's stages while the context lasts, if the settings want it.

    Raises ConfigurationError as `opened_tracer`.
    """
    with opened_tracer(settings, exporter) as tracer:
        if tracer is None:
            yield
            return
        spans = Spans(tracer, settings, generator)
        before = driver.batch, driver.publish, driver.log
        driver.batch = spans.of_batch(driver.batch)
        driver.publish = spans.of_publication(driver.publish)
        driver.log = spans.of_log(driver.log)
        observers.append(spans.stage)
        try:
            yield
        finally:
            observers.remove(spans.stage)
            driver.batch, driver.publish, driver.log = before


@contextmanager
def opened_tracer(
    settings: Settings, exporter: "SpanExporter | None" = None
) -> Iterator["Tracer | None"]:
    """What makes spans while the context lasts; None where the settings want no traces.

    Spans go to `exporter`, by default to where the OTEL_EXPORTER_OTLP_… variables say. Exporting
    happens in a thread of its own and its failures change nothing. Raises ConfigurationError when
    OpenTelemetry is not installed. Without traces it is not even imported.
    """
    if not settings.telemetry.traces:
        yield None
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
    try:
        yield provider.get_tracer("radarstream")
    finally:
        provider.shutdown()


class Spans:
    """Makes the job's spans. `generator` is asked for its `model_id`."""

    def __init__(self, tracer: "Tracer", settings: Settings, generator: object) -> None:
        from opentelemetry import trace

        self._api = trace
        self._tracer = tracer
        self._model = str(getattr(generator, "model_id", ""))
        self._topic = settings.kafka.topic(WIRE_SCHEMAS[SearchSnapshot].topic)
        self._group = settings.kafka.group
        self._batch: Span | None = None

    def of_batch(self, batch: Batch) -> Batch:
        """Put a span around every batch; stages that run meanwhile are its children."""

        def traced_batch(records: Sequence[RawRecord]) -> list[Outcome]:
            attributes = self._of_topic("process", "process") | {COUNT: len(records)}
            kind = self._api.SpanKind.CONSUMER
            with self._span(f"process {self._topic}", attributes, kind=kind) as span:
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

        def traced_publish(lanes: frozenset[int]) -> int:
            started, sent, failure = time_ns(), 0, None
            try:
                sent = publish(lanes)
            except Exception as error:
                failure = error
                raise
            finally:
                if sent or failure:
                    span = self._tracer.start_span(
                        "send",
                        attributes=messaging("send", "send") | {COUNT: sent},
                        kind=self._api.SpanKind.PRODUCER,
                        start_time=started,
                    )
                    if failure:
                        self._mark_failed(span, failure)
                    span.end()
            return sent

        return traced_publish

    def of_log(self, log: SnapshotLog) -> SnapshotLog:
        """Put a span around every commit of offsets."""

        def commit(next_offsets: Mapping[int, int]) -> None:
            attributes = self._of_topic("commit", "settle")
            with self._span(f"commit {self._topic}", attributes, kind=self._api.SpanKind.CLIENT):
                log.commit(next_offsets)

        return SimpleNamespace(
            poll=log.poll, partitions=log.partitions, unread=log.unread, commit=commit
        )

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Put a span around a stage; one of a Meter's `observers`."""
        attributes = {"radarstream.stage": name}
        if name in GENERATING:
            attributes |= {"gen_ai.operation.name": "chat", "gen_ai.request.model": self._model}
        # Named explicitly: the runner may execute a stage in another thread.
        parent = self._api.set_span_in_context(self._batch) if self._batch else None
        with self._span(name, attributes, context=parent):
            yield

    def _of_topic(self, name: str, operation: str) -> dict[str, Any]:
        return messaging(name, operation) | {
            "messaging.destination.name": self._topic,
            "messaging.consumer.group.name": self._group,
        }

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
                self._mark_failed(span, error)
                raise

    def _mark_failed(self, span: "Span", error: BaseException) -> None:
        span.set_attribute("error.type", class_name(error))
        span.set_status(self._api.StatusCode.ERROR)


def messaging(name: str, operation: str) -> dict[str, Any]:
    """Return the attributes of an operation on the broker."""
    return {
        "messaging.system": "kafka",
        "messaging.operation.name": name,
        "messaging.operation.type": operation,
    }
