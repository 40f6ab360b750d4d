"""The metrics: what they say after something happened."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry

from radarstream.connectors.models.openai_http.generator import OpenAiGenerator
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.connectors.search.paged import SearchCounts
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.job.telemetry.metrics import (
    OUTCOMES,
    CollectingMetrics,
    JobMetrics,
    outcome_of,
)
from radarstream.pipelines.job.telemetry.readings import ModelMetrics
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelOutageError, ReasonClass
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import Provenance, Retrieval
from radarstream.schemas.verdict import (
    Abstention,
    DocumentVerdict,
    MemoryDecision,
    MemoryVerdict,
    Reason,
)
from tests.wire_samples import ANSWER, DEAD_LETTER, OBSERVED_AT, SNAPSHOT

NOW = OBSERVED_AT + timedelta(seconds=90)
Value = Callable[..., float | None]


def reader(registry: CollectorRegistry) -> Value:
    """value("answers_total", outcome="changed") -> the sample's value, None if there is none."""
    return lambda name, **labels: registry.get_sample_value(f"radarstream_{name}", labels)


@pytest.fixture
def metrics() -> JobMetrics:
    return JobMetrics()


@pytest.fixture
def value(metrics: JobMetrics) -> Value:
    return reader(metrics.registry)


def test_answers_by_how_they_compare(metrics: JobMetrics, value: Value) -> None:
    plain = replace(ANSWER, answer="Zürich", abstention=None)
    changes = (True, False, False, None)
    metrics.outcomes([ANSWER, *(replace(plain, changed=changed) for changed in changes)], NOW)
    counts = {outcome: value("answers_total", outcome=outcome) for outcome in OUTCOMES}
    assert counts == {"abstained": 1, "changed": 1, "unchanged": 2, "first": 1}
    assert outcome_of(replace(ANSWER, abstention=Abstention.NO_CONSENSUS)) == "abstained"


def test_the_age_of_a_snapshot_is_from_event_time_to_now(metrics: JobMetrics, value: Value) -> None:
    metrics.outcomes([ANSWER], NOW)
    old = replace(ANSWER, provenance=Provenance.DATE_RESTRICTED)
    metrics.outcomes([old], NOW + timedelta(days=3_650))
    metrics.outcomes([ANSWER], OBSERVED_AT - timedelta(seconds=5))  # a clock that is behind
    assert value("snapshot_age_seconds_sum", provenance="live") == 90.0
    assert value("snapshot_age_seconds_count", provenance="live") == 2
    assert value("snapshot_age_seconds_bucket", provenance="live", le="60.0") == 1
    assert value("snapshot_age_seconds_bucket", provenance="live", le="300.0") == 2
    assert value("snapshot_age_seconds_count", provenance="date_restricted") == 1


def test_documents_and_memory_by_what_was_decided(metrics: JobMetrics, value: Value) -> None:
    documents = tuple(
        DocumentVerdict(rank, reason in {Reason.SUPPORTED}, reason)
        for rank, reason in enumerate([Reason.SUPPORTED, Reason.CUT, Reason.CUT, Reason.ISOLATED])
    )
    retained, falsified = (
        replace(ANSWER.verdict, documents=(), memory=MemoryVerdict(decision))
        for decision in (MemoryDecision.RETAINED, MemoryDecision.FALSIFIED)
    )
    for verdict in (replace(retained, documents=documents), falsified, falsified):
        metrics.outcomes([replace(ANSWER, verdict=verdict)], NOW)
    assert value("documents_total", decision="kept", reason="supported") == 1
    for reason, count in (("cut", 2), ("isolated", 1), ("uninformative", 0)):
        assert value("documents_total", decision="rejected", reason=reason) == count
    assert value("memory_decisions_total", decision="retained") == 1
    assert value("memory_decisions_total", decision="falsified") == 2


def test_dead_letters_by_reason_and_disposition(metrics: JobMetrics, value: Value) -> None:
    def counts(*kinds: tuple[str, str]) -> list[float | None]:
        return [value("dead_letters_total", reason=r, disposition=d) for r, d in kinds]

    late, away = ("late", "poison"), ("model_unavailable", "outage")
    assert counts(late, away, ("future_time", "outage")) == [0, 0, 0]
    outage = replace(DEAD_LETTER, reason=ReasonClass.MODEL_UNAVAILABLE, disposition="outage")
    metrics.outcomes([DEAD_LETTER, outage, outage], NOW)
    assert counts(("future_time", "poison"), away) == [1, 2]
    assert value("answers_total", outcome="changed") == 0


query_ids = st.text(min_size=1, max_size=20)


@given(st.lists(st.tuples(query_ids, st.text(max_size=20)), max_size=5))
def test_the_number_of_series_does_not_grow_with_what_arrives(arriving) -> None:
    metrics = JobMetrics()
    metrics.outcomes([ANSWER, DEAD_LETTER], NOW)
    before = series(metrics)
    for query_id, text in arriving:
        metrics.outcomes([replace(ANSWER, query_id=query_id, answer=text, tags=(text,))], NOW)
        metrics.outcomes([replace(DEAD_LETTER, detail=text, source=query_id)], NOW)
    assert series(metrics) == before


def series(metrics: JobMetrics) -> set[tuple[str, str]]:
    return {
        (sample.name, str(sample.labels))
        for family in metrics.registry.collect()
        for sample in family.samples
    }


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAiGenerator]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    prices = {"price_in": 1.0, "price_out": 2.0}
    generator = OpenAiGenerator(
        OpenAiOptions(base_url="http://127.0.0.1:9/v1", model="m", failures_to_open=2, **prices)
    )
    yield generator
    generator.close()


@pytest.fixture
def cache(tmp_path: Any) -> ResponseCache:
    return ResponseCache(open_engine(f"sqlite:///{tmp_path / 'state.db'}"))


def of_models(**models: object) -> Value:
    registry = CollectorRegistry()
    registry.register(ModelMetrics(models))
    return reader(registry)


def test_calls_and_hits_are_the_cache_s(cache: ResponseCache) -> None:
    model = Cached(ScriptedGenerator(), cache)
    value = of_models(generator=model, relations=object())
    prompts = [build_prompt(Task.ATOMIC_ANSWER, "Who?", (f"passage {n}",)) for n in range(3)]
    model.complete(prompts)
    model.complete(prompts[:2])
    assert value("model_calls_total", model="generator") == 3
    assert value("model_cache_hits_total", model="generator") == 2
    assert value("model_calls_total", model="relations") is None
    assert value("model_tokens_total", model="generator", direction="in") is None


def test_tokens_cost_and_errors_are_the_backend_s(cache, api) -> None:
    value = of_models(generator=Cached(api, cache))
    assert value("model_cost_total", model="generator") == 0.0
    api.client.tokens_in, api.client.tokens_out = 2_000_000, 500_000
    api.client.errors["timeout"] += 3
    assert value("model_tokens_total", model="generator", direction="in") == 2_000_000
    assert value("model_tokens_total", model="generator", direction="out") == 500_000
    assert value("model_cost_total", model="generator") == 3.0
    assert value("model_errors_total", model="generator", error="timeout") == 3


def test_the_breaker_s_state_is_told(cache: ResponseCache, api: OpenAiGenerator) -> None:
    value = of_models(generator=Cached(api, cache))

    def state() -> dict[str, float | None]:
        names = ("closed", "half_open", "open")
        return {n: value("breaker_state", model="generator", state=n) for n in names}

    assert state() == {"closed": 1.0, "half_open": 0.0, "open": 0.0}
    for _ in range(3):
        with pytest.raises(ModelOutageError), api.client.breaker.call():
            raise ModelOutageError("down")
    assert state() == {"closed": 0.0, "half_open": 0.0, "open": 1.0}
    assert value("breaker_refused_total", model="generator") == 1


def test_the_collector_counts_searches_and_what_they_cost() -> None:
    counts = SearchCounts()
    metrics = CollectingMetrics(counts)
    value = reader(metrics.registry)
    before = value("last_collected_timestamp_seconds")
    counts.requests, counts.retries, counts.credits = 5, 1, 4
    for retrieval in (None, Retrieval("google", 1, partial=True), Retrieval("google", 2)):
        metrics.collected(replace(SNAPSHOT, retrieval=retrieval))
    assert [value(f"search_{n}_total") for n in ("requests", "retries", "credits")] == [5, 1, 4]
    assert value("snapshots_collected_total", completeness="complete") == 2
    assert value("snapshots_collected_total", completeness="partial") == 1
    assert value("documents_collected_total") == 3 * len(SNAPSHOT.documents)
    assert value("last_collected_timestamp_seconds") > before
