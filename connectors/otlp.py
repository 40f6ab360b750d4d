"""Traces over OTLP/HTTP, by OpenTelemetry's SDK; its own environment variables configure it.

A stage of a batch has a span in each of its rounds. A call of a model stands below the stages whose
question it asks: a child of the first, linked to the others. Questions, answers and prompts
are in spans only where `CAPTURE` says so. Attributes are those of OpenTelemetry's semantic
conventions for generative AI, 1.37. A span is made when it ends, as a round may end in another
process than it began in.
"""

import atexit
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib.metadata import version
from queue import SimpleQueue
from threading import Event, Thread
from time import time_ns
from typing import Any, Final
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from radarstream.connectors.models.rendering import chat_messages
from radarstream.connectors.models.wrapping import Method, Replies
from radarstream.connectors.traces import HEADER, Answered, Located, OutT, Traces
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.prompt import Completion, Prompt

CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
FLUSH_S: Final = 2.0
OPERATIONS: Final[Mapping[str, str]] = {
    Method.COMPLETE: "chat",
    Method.EMBED: "embeddings",
    Method.LOG_PROBS: "text_completion",
}
Attributes = dict[str, Any]
W3C: Final = TraceContextTextMapPropagator()


@dataclass(frozen=True)
class Span:
    """A span that has begun: its ids, those of the span above, and when it began (since 1970)."""

    place: trace.SpanContext
    above: trace.SpanContext
    started_ns: int


class OtlpTraces(Traces):
    """Sends spans from a thread; a receiver that is dead or slow costs them, and no answer."""

    def __init__(self) -> None:
        own = {"service.name": "radarstream", "service.version": version("radarstream")}
        resource = Resource.create(own | dict(OTELResourceDetector().detect().attributes))
        scope = InstrumentationScope("radarstream", own["service.version"])
        self._make = partial(ReadableSpan, resource=resource, instrumentation_scope=scope)
        self._sampler = TracerProvider(shutdown_on_exit=False).sampler
        self._limits = SpanLimits()
        self._processor = BatchSpanProcessor(OTLPSpanExporter())
        self._texts = os.environ.get(CAPTURE, "").lower() in {"true", "span_only", "span_and_event"}
        self._rounds: ContextVar[dict[Any, Span]] = ContextVar("rounds")
        self._stages: ContextVar[list[tuple[str, Span]]] = ContextVar("stages")
        self._flushes: SimpleQueue[Event] = SimpleQueue()
        # Python 3.12 starts no thread at its end.
        Thread(target=self._flushing, name="traces", daemon=True).start()
        atexit.register(self.flush)

    def here(self) -> str:
        """The traceparent of the caller's current span, "" without one."""
        W3C.inject(carrier := dict[str, str]())
        return carrier.get(HEADER, "")

    def begin(self, parent: str | None) -> Span:
        """Begin a round below a traceparent; None stands for the caller's current span."""
        header = self.here() if parent is None else parent
        return self._begun(current(W3C.extract({HEADER: header}, Context())))

    def step(
        self, rounds: Sequence[tuple[Located, Span]], work: Callable[[], list[OutT]]
    ) -> list[OutT]:
        """Take a step of rounds; an outcome that is an error, or has an event, ends its round."""
        token = self._rounds.set({key_of(item): begun for item, begun in rounds if begun})
        try:
            outcomes = work()
        finally:
            self._rounds.reset(token)
        for (item, begun), outcome in zip(rounds, outcomes, strict=True):
            event = getattr(outcome, "event", None)
            if begun and (event or isinstance(outcome, Exception)):
                known = attributes_of_event(event) if event else {}
                known["radarstream.query.id"] = item.query.id
                if self._texts:
                    known["radarstream.question"] = item.query.text
                    known["radarstream.answer"] = event.answer if event else ""
                self._end(begun, "round", known, outcome)
        return outcomes

    @contextmanager
    def stage(self, name: str, items: Sequence[Located]) -> Iterator[None]:
        """A span in each of the rounds of these items."""
        rounds, named = self._rounds.get({}), {key_of(item): item.query.text for item in items}
        held = [(named[key], rounds[key].place) for key in named if key in rounds]
        spans = [(question, self._begun(above)) for question, above in held]
        token, failure = self._stages.set(spans), None
        try:
            yield
        except BaseException as error:
            failure = error
            raise
        finally:
            self._stages.reset(token)
            for _, span in spans:
                self._end(span, name, {"radarstream.batch": len(spans)}, failure)

    def calls(self, model: Any, method: str) -> Answered:
        """A span for each completion, or one for a whole call of another kind."""
        if (operation := OPERATIONS.get(method)) is None:
            return super().calls(model, method)
        return partial(self._answered, attributes_of(model, operation), time_ns())

    def _answered(
        self, common: Attributes, started_ns: int, requests: Sequence[Any], replies: Replies
    ) -> None:
        pairs, stages = list(zip(requests, replies, strict=True)), self._stages.get([])
        chats = common["gen_ai.operation.name"] == "chat"
        name = f"{common['gen_ai.operation.name']} {common['gen_ai.request.model']}"
        kind = trace.SpanKind.CLIENT if "server.address" in common else trace.SpanKind.INTERNAL
        for part in [[pair] for pair in pairs] if chats else [pairs]:
            asked = {getattr(request, "question", None) for request, _ in part}
            every = [span for _, span in stages]
            serving = [span for question, span in stages if question in asked] or every
            above = serving[0].place if serving else current()
            known = {"radarstream.requests": len(part)}
            if chats:
                known = attributes_of_completion(*part[0], with_texts=self._texts)
            links = [trace.Link(span.place) for span in serving[1:]]
            error = next((reply for _, reply in part if isinstance(reply, Exception)), None)
            span = self._begun(above, started_ns)
            self._end(span, name, common | known, error, kind=kind, links=links)

    def _begun(self, above: trace.SpanContext, started_ns: int | None = None) -> Span:
        """A span that begins, now or at a time; it is sent if the sampler says so."""
        ids = RandomIdGenerator()
        trace_id = above.trace_id or ids.generate_trace_id()
        context = trace.set_span_in_context(trace.NonRecordingSpan(above), Context())
        decision = self._sampler.should_sample(context, trace_id, "").decision
        flags = trace.TraceFlags(decision is Decision.RECORD_AND_SAMPLE)
        own = trace.SpanContext(trace_id, ids.generate_span_id(), False, flags)
        return Span(own, above, started_ns or time_ns())

    def _end(
        self, span: Span, name: str, known: Attributes, error: object = None, **more: Any
    ) -> None:
        """Make a span. Of an error it has the class alone: the words may hold data."""
        status = trace.Status()
        if isinstance(error, BaseException):
            known = known | {"error.type": type(error).__name__}
            status = trace.Status(trace.StatusCode.ERROR)
        most, longest = self._limits.max_span_attributes, self._limits.max_span_attribute_length
        made = self._make(
            name,
            span.place,
            span.above if span.above.is_valid else None,
            attributes=BoundedAttributes(most, known, max_value_len=longest),
            status=status,
            start_time=span.started_ns,
            end_time=time_ns(),
            **more,
        )
        self._processor.on_end(made)

    def flush(self) -> None:
        """Send what waits to be sent, for `FLUSH_S` at most; a thread goes on."""
        self._flushes.put(done := Event())
        done.wait(FLUSH_S)

    def _flushing(self) -> None:
        while True:
            done = self._flushes.get()
            self._processor.force_flush()
            done.set()


def key_of(item: Located) -> tuple[str, datetime]:
    """What tells the rounds of a batch apart."""
    return item.query.id, item.observed_at


def current(context: Context | None = None) -> trace.SpanContext:
    """The span of a context, by default the caller's; not valid where there is none."""
    return trace.get_current_span(context).get_span_context()


def attributes_of(model: Any, operation: str) -> Attributes:
    """What all calls of a model have in common."""
    options: Any = getattr(model, "options", None)
    address = urlsplit(getattr(options, "base_url", ""))
    known = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": re.split("[/@]", model.model_id)[0],
        "gen_ai.request.model": options.model if address.hostname else model.model_id,
    }
    if address.hostname:
        known["server.address"] = address.hostname
        known["server.port"] = address.port or {"http": 80, "https": 443}[address.scheme]
    return known


def attributes_of_completion(prompt: Prompt, reply: object, *, with_texts: bool) -> Attributes:
    """What a completion was asked for and took; its texts where these may be in spans."""
    known: Attributes = {
        "radarstream.task": prompt.task.value,
        "gen_ai.request.max_tokens": prompt.max_tokens,
    }
    messages = {"gen_ai.input.messages": chat_messages(prompt)}
    if isinstance(reply, Completion):
        known["gen_ai.usage.input_tokens"] = reply.prompt_tokens
        known["gen_ai.usage.output_tokens"] = reply.completion_tokens
        messages["gen_ai.output.messages"] = [{"role": "assistant", "content": reply.text}]
    for name, some in messages.items() if with_texts else ():
        parts = [(m["role"], [{"type": "text", "content": m["content"]}]) for m in some]
        known[name] = json.dumps([{"role": role, "parts": texts} for role, texts in parts])
    return known


def attributes_of_event(event: AnswerEvent) -> Attributes:
    """What an event says without anybody's text."""
    known = {
        "defense": event.defense,
        "documents": len(event.sources),
        "documents.kept": sum(judged.kept for judged in event.verdict.documents),
        "status": event.status.value,
        "abstention": event.abstention and event.abstention.value,
        "withstand": event.withstand,
    }
    return {f"radarstream.{name}": value for name, value in known.items() if value is not None}
