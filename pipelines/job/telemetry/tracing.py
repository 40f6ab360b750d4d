"""OpenTelemetry (optional, extra `otel`): what makes the spans of the service."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from radarstream.pipelines.build import naming_extra
from radarstream.pipelines.job.telemetry.metrics import build
from radarstream.pipelines.settings import Settings

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Tracer


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
