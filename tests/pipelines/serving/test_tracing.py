"""Traces of the service: a span for each question, with the stages that answered it."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from radarstream.pipelines.job.telemetry.tracing import opened_tracer
from radarstream.pipelines.serving import app as app_module
from radarstream.pipelines.serving.app import create_app
from radarstream.pipelines.settings import Settings, TelemetrySettings
from tests.serving import OWN, PeopleInMemory, bearer, service_settings

PHRASE = "the purple canary sings at noon"


def test_each_question_has_a_span_with_its_stages_and_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SERPAPI_KEY", raising=False)
    exporter = InMemorySpanExporter()
    settings: Settings = service_settings(tmp_path).model_copy(
        update={"telemetry": TelemetrySettings(traces=True)}
    )
    monkeypatch.setattr(app_module, "opened_tracer", lambda given: opened_tracer(given, exporter))
    app = create_app(settings, people=PeopleInMemory())
    documents = [{**one, "text": f"{one['text']} {PHRASE}"} for one in OWN]
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for source, fine in (("documents", True), ("search", False)):  # no key for a search
            body = {"question": f"What is the capital of France? {PHRASE}", "source": source}
            given = {"documents": documents} if fine else {}
            sent = client.post("/answers", json=body | given, headers=bearer("all"))
            assert (sent.status_code == 200) is fine
    spans = exporter.get_finished_spans()
    questions = [span for span in spans if span.name == "question"]
    answered, failed = questions
    assert answered.attributes["radarstream.source"] == "documents"
    assert answered.attributes["radarstream.questions"] == 1
    stages = [s for s in spans if s.parent and s.parent.span_id == answered.context.span_id]
    assert {"atomic answers", "relations"} <= {stage.name for stage in stages}
    for stage in stages:
        assert answered.start_time <= stage.start_time <= stage.end_time <= answered.end_time
    assert failed.status.status_code is StatusCode.ERROR
    assert failed.attributes["error.type"].endswith(".ConfigurationError")
    assert PHRASE not in " ".join(span.to_json() for span in spans)
