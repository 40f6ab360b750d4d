"""Spans as a receiver of OTLP over HTTP gets them, of every road that answers."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider

import radarstream
from radarstream.connectors import otlp
from radarstream.connectors.traces import Traces, traces
from radarstream.pipelines.beam.cluster import worker_pool
from radarstream.pipelines.beam.graph import MicroBatch
from radarstream.pipelines.serving.app import create_app
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import ModelError
from radarstream.schemas.records import LogPosition, RawRecord
from tests.builders import OBSERVED_AT, make_snapshot
from tests.connectors.models.fault_server import FaultServer, serving, status
from tests.replies import Reply
from tests.servers import free_port
from tests.serving import OWN, PeopleInMemory, bearer, running, service_settings
from tests.webhook_receiver import Receiver, receiving

CAPITAL = "What is the capital of Peru?"
PAGES = ["Lima is the capital of Peru.", "The capital of Peru is Lima.", "Cusco is its capital."]
KEY = "sk-canary-0123456789"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def values(span: Span) -> dict[str, Any]:
    """The attributes of a span."""
    kinds = {a.key: (a.value, a.value.WhichOneof("value")) for a in span.attributes}
    return {key: getattr(value, kind) for key, (value, kind) in kinds.items()}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    """A receiver that the environment names."""
    with receiving(last=Reply()) as receiver:
        send_to(receiver.url.removesuffix("/hook"), monkeypatch)
        yield receiver
    traces.cache_clear()


def send_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
    traces.cache_clear()


def spans_at(receiver: Receiver) -> list[Span]:
    """All spans of this process, once the receiver has them."""
    traces().flush()
    return spans_in(receiver)


def spans_in(receiver: Receiver) -> list[Span]:
    assert {request.path for request in receiver.received} == {"/v1/traces"}
    sent = [ExportTraceServiceRequest.FromString(request.body) for request in receiver.received]
    return [
        span
        for one in sent
        for resource in one.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def named(spans: list[Span], name: str) -> list[Span]:
    return [span for span in spans if span.name == name]


def below(spans: list[Span], above: Span) -> list[Span]:
    place = above.trace_id, above.span_id
    return [span for span in spans if (span.trace_id, span.parent_span_id) == place]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """A model behind a service that wants a key."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as service:
        service.key = KEY
        yield service


def a_guard(service: FaultServer) -> radarstream.Guard:
    return radarstream.Guard(model="small", base_url=service.url)


def test_a_round_its_stages_and_its_calls_of_a_model(
    receiver: Receiver, service: FaultServer
) -> None:
    with a_guard(service) as guard:
        event = guard.answer(CAPITAL, PAGES).event
    spans = spans_at(receiver)
    (round_,) = named(spans, "round")
    assert values(round_) == {
        "radarstream.query.id": event.query_id,
        "radarstream.defense": "voices",
        "radarstream.documents": 3,
        "radarstream.documents.kept": 3,
        "radarstream.status": "corroborated",
        "radarstream.withstand": 1,
    }
    stages = below(spans, round_)
    assert [stage.name for stage in stages] == ["atomic answers", "relations", "defence"]
    calls = [call for stage in stages for call in below(spans, stage)]
    assert len(calls) == len(service.requests) == len(spans) - 4
    assert not any(span.status.code for span in spans)
    assert calls[0].name == "chat small" and calls[0].kind == Span.SPAN_KIND_CLIENT
    assert values(calls[0]) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "small",
        "gen_ai.request.max_tokens": service.requests[0]["max_tokens"],
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 5,
        "server.address": "127.0.0.1",
        "server.port": urlsplit(service.url).port,
        "radarstream.task": "atomic_answer",
    }


@pytest.mark.parametrize("capture", ["", "false", "true"])
def test_texts_are_sent_on_demand_and_keys_never(
    receiver: Receiver,
    service: FaultServer,
    monkeypatch: pytest.MonkeyPatch,
    capture: str,
) -> None:
    monkeypatch.setenv(otlp.CAPTURE, capture)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", f"authorization=Basic {KEY}")
    with a_guard(service) as guard:
        guard.answer(CAPITAL, PAGES)
    spans = spans_at(receiver)
    assert receiver.received[0].headers["authorization"] == f"Basic {KEY}"
    sent = b"".join(request.body for request in receiver.received)
    assert KEY.encode() not in sent
    texts = [b"capital", b"Lima", b"Cusco"]
    assert [text in sent for text in texts] == [capture == "true"] * 3
    if capture == "true":
        (round_,) = named(spans, "round")
        assert values(round_)["radarstream.question"] == CAPITAL
        assert values(round_)["radarstream.answer"] == "Lima"
        calls = [values(call) for call in named(spans, "chat small")]
        asked = [json.loads(call["gen_ai.input.messages"]) for call in calls]
        assert {(a[0]["role"], a[-1]["role"]) for a in asked} == {("system", "user")}
        said = [json.loads(call["gen_ai.output.messages"]) for call in calls]
        assert [{"role": "assistant", "parts": [{"type": "text", "content": "Lima"}]}] in said


def test_a_call_stands_in_the_rounds_that_it_serves(receiver: Receiver) -> None:
    """The questions of a batch share calls; of one embedding all, of a completion one."""
    capitals = {name: f"What is the capital of {name}?" for name in ("Peru", "Chile")}
    with radarstream.Guard(profile="scripted", reranker="trust_rag", keep=3) as guard:
        guard.answer_many([(question, PAGES) for question in capitals.values()])
    spans = spans_at(receiver)
    rounds = named(spans, "round")
    assert len({span.trace_id for span in rounds}) == 2
    stages = {name: named(spans, name) for name in ("reranking", "atomic answers")}
    for found in stages.values():
        assert {span.parent_span_id for span in found} == {span.span_id for span in rounds}
        assert {values(span)["radarstream.batch"] for span in found} == {2}
    first, second = stages["reranking"]
    embedding = named(spans, "embeddings scripted/3")[0]
    assert embedding.parent_span_id == first.span_id
    assert [link.span_id for link in embedding.links] == [second.span_id]
    assert values(embedding)["radarstream.requests"] == 5  # two questions, three pages
    calls = [call for stage in stages["atomic answers"] for call in below(spans, stage)]
    assert len(calls) == 2 and not any(call.links for call in calls)  # of a page that each kept


def test_a_round_that_fails(receiver: Receiver, service: FaultServer) -> None:
    """Its error is named by its class: a service may repeat key and question in its words."""
    service.always = status(400)
    with a_guard(service) as guard, pytest.raises(ModelError):
        guard.answer(CAPITAL, PAGES)
    spans = spans_at(receiver)
    (round_,) = named(spans, "round")
    failed = [values(span)["error.type"] for span in (round_, *named(spans, "chat small"))]
    assert failed == ["RequestError"] * 4
    sent = b"".join(request.body for request in receiver.received)
    assert KEY.encode() not in sent and b"capital" not in sent


@pytest.mark.parametrize("hangs", [True, False])
def test_an_answer_waits_for_no_receiver(hangs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3600")
    with receiving(last=Reply(hang=True)) as receiver:
        url = receiver.url.removesuffix("/hook") if hangs else f"http://127.0.0.1:{free_port()}"
        send_to(url, monkeypatch)
        with radarstream.Guard(profile="scripted") as guard:
            assert guard.answer(CAPITAL, PAGES).text == "Lima"
        traces().flush()
        assert len(receiver.received) == hangs  # which still waits for its reply
    traces.cache_clear()


@pytest.mark.parametrize("path", ["/answers", "/v1/chat/completions"])
def test_the_header_of_a_request_is_the_parent(
    receiver: Receiver, tmp_path: Path, path: str
) -> None:
    settings = service_settings(tmp_path)
    own = {"documents": OWN}
    body: dict[str, Any] = {"question": CAPITAL, **own}
    if path.startswith("/v1"):
        said = [{"role": "user", "content": CAPITAL}]
        body = {"model": "radarstream", "messages": said, "radarstream": own}
    app = create_app(settings, people=PeopleInMemory())
    with running(app) as port, httpx.Client(base_url=f"http://127.0.0.1:{port}") as client:
        for parent in (PARENT, "no traceparent"):
            headers = bearer("asking") | {"traceparent": parent}
            assert client.post(path, json=body, headers=headers).status_code == 200
    first, second = named(spans_at(receiver), "round")
    assert [first.trace_id.hex(), first.parent_span_id.hex()] == PARENT.split("-")[1:3]
    assert second.trace_id != first.trace_id and not second.parent_span_id


def test_questions_of_a_program_stand_below_the_spans_that_ask_them(receiver: Receiver) -> None:
    tracer = TracerProvider().get_tracer("program")

    async def ask(guard: radarstream.AsyncGuard, place: str) -> str:
        with tracer.start_as_current_span(place) as span:
            await guard.answer(f"What is the capital of {place}?", PAGES)
            return f"{span.get_span_context().span_id:016x}"

    async def everything() -> list[str]:
        async with radarstream.AsyncGuard(profile="scripted") as guard:
            return await asyncio.gather(*(ask(guard, place) for place in ("Peru", "Chile")))

    asking = asyncio.run(everything())
    assert [span.parent_span_id.hex() for span in named(spans_at(receiver), "round")] == asking


def test_the_job_has_a_round_for_each_snapshot(receiver: Receiver, tmp_path: Path) -> None:
    """Stages before and after the regrouping by query are below the same span."""
    database = f"sqlite:///{tmp_path}/state.db"
    batch = {"snapshots": 3, "queries": 2}
    settings = load_settings(None, profile="scripted", database=database, batch=batch)
    made = [
        make_snapshot(PAGES, query_id=str(query), observed_at=OBSERVED_AT + timedelta(days=day))
        for day in range(2)
        for query in range(3)
    ]
    places = [LogPosition("e", 0, offset) for offset in range(len(made))]
    records = [
        RawRecord("e/t/0", at.offset, encode(one), log=at)
        for at, one in zip(places, made, strict=True)
    ]
    assert len(MicroBatch(settings)(records)) == 6
    spans = spans_at(receiver)
    rounds = named(spans, "round")
    assert sorted(values(span)["radarstream.query.id"] for span in rounds) == [*"001122"]
    for span in rounds:
        assert {stage.name for stage in below(spans, span)} >= {"atomic answers", "defence"}
    assert {span.parent_span_id for span in spans} <= {span.span_id for span in spans} | {b""}


def test_a_worker_of_a_cluster_sends_its_spans_before_it_ends(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Harness:
        def __init__(self, *_: object, **__: object) -> None: ...

        def run(self) -> None:
            with radarstream.Guard(profile="scripted") as guard:
                guard.answer(CAPITAL, PAGES)

    monkeypatch.setattr(worker_pool.sdk_worker, "SdkHarness", Harness)
    worker_pool.work("127.0.0.1:1", "1", 0, 0)
    assert receiver.received


@pytest.mark.parametrize(("command", "hangs"), [("ask", False), ("check", True)])
def test_a_command_sends_its_spans_and_waits_for_no_receiver(
    tmp_path: Path, command: str, hangs: bool
) -> None:
    for number, page in enumerate(PAGES):
        (tmp_path / f"{number}.txt").write_text(page)
    text = CAPITAL if command == "ask" else PAGES[0]
    arguments = [command, text, "0.txt", "1.txt", "2.txt", "--dry-run"]
    with receiving(last=Reply(hang=hangs)) as receiver:
        environment = os.environ | {
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": receiver.url.replace("hook", "v1/traces"),
            "OTEL_EXPORTER_OTLP_TIMEOUT": "3600",
        }
        ran = subprocess.run(
            [sys.executable, "-m", "radarstream", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            timeout=600,
            check=True,
        )
        assert b"Lima" in ran.stdout
        assert len(named(spans_in(receiver), "round")) == 1


PROGRAM = """
import radarstream, sys
with radarstream.Guard(profile="scripted") as g:
    print(g.answer("What is its capital?", ["Lima is its capital.", "Its capital is Lima."]).text)
print([name for name in sys.modules if name.startswith("opentelemetry")])
"""


def test_nothing_is_imported_that_nobody_asked_for() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    assert ran.stdout.decode().splitlines() == ["Lima", "[]"]


@pytest.mark.parametrize("variable", ["OTEL_TRACES_EXPORTER=none", "OTEL_SDK_DISABLED=true"])
def test_an_endpoint_may_be_for_others(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(*variable.split("="))
    send_to("http://127.0.0.1:9", monkeypatch)
    assert type(traces()) is Traces
    traces.cache_clear()


def test_a_missing_extra_is_named_and_costs_no_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delitem(sys.modules, "radarstream.connectors.otlp", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    send_to("http://127.0.0.1:9", monkeypatch)
    try:
        with radarstream.Guard(profile="scripted") as guard:
            assert guard.answer(CAPITAL, PAGES).text == "Lima"
    finally:
        traces.cache_clear()
    assert "pip install 'radarstream[traces]'" in caplog.text
