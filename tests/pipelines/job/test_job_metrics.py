"""The metrics: what they say; dashboard and alert rules name only what is exported."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from structlog.testing import CapturingLogger

from radarstream.connectors.kafka.topic_reader import Offsets
from radarstream.connectors.models.openai_http.generator import OpenAiGenerator
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.connectors.search.paged import SearchCounts
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.job.telemetry.endpoint import Health
from radarstream.pipelines.job.telemetry.metrics import (
    OUTCOMES,
    CollectingMetrics,
    JobMetrics,
    outcome_of,
)
from radarstream.pipelines.job.telemetry.observing import Lag, Observer
from radarstream.pipelines.job.telemetry.readings import ModelMetrics
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import BrokerError, ModelOutageError, ReasonClass
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import Provenance, Retrieval
from radarstream.schemas.verdict import (
    Abstention,
    DocumentVerdict,
    MemoryDecision,
    MemoryVerdict,
    Reason,
)
from tests.builders import logged
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
def kept(tmp_path: Any) -> ResponseCache:
    return ResponseCache(open_engine(f"sqlite:///{tmp_path / 'state.db'}"))


def of_models(**models: object) -> Value:
    registry = CollectorRegistry()
    registry.register(ModelMetrics(models))
    return reader(registry)


def test_calls_and_hits_are_the_cache_s(kept: ResponseCache) -> None:
    model = Cached(ScriptedGenerator(), kept)
    value = of_models(generator=model, relations=object())
    prompts = [build_prompt(Task.ATOMIC_ANSWER, "Who?", (f"passage {n}",)) for n in range(3)]
    model.complete(prompts)
    model.complete(prompts[:2])
    assert value("model_calls_total", model="generator") == 3
    assert value("model_cache_hits_total", model="generator") == 2
    assert value("model_calls_total", model="relations") is None
    assert value("model_tokens_total", model="generator", direction="in") is None


def test_tokens_cost_and_errors_are_the_backend_s(kept, api) -> None:
    value = of_models(generator=Cached(api, kept))
    assert value("model_cost_total", model="generator") == 0.0
    api.client.tokens_in, api.client.tokens_out = 2_000_000, 500_000
    api.client.errors["timeout"] += 3
    assert value("model_tokens_total", model="generator", direction="in") == 2_000_000
    assert value("model_tokens_total", model="generator", direction="out") == 500_000
    assert value("model_cost_total", model="generator") == 3.0
    assert value("model_errors_total", model="generator", error="timeout") == 3


def test_the_breaker_s_state_is_told(kept: ResponseCache, api: OpenAiGenerator) -> None:
    value = of_models(generator=Cached(api, kept))

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


# --- dashboard and alert rules


INFRA = Path(__file__).resolve().parents[3] / "infra"
DASHBOARD = INFRA / "grafana" / "dashboards" / "radarstream.json"
RULES = INFRA / "prometheus" / "alerts.yml"
FROM_PROMETHEUS = {"job", "instance"}  # labels that every scraped series gets
WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
SELECTOR = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)\s*\{([^}]*)\}")
GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
OPERATORS = {"and", "or", "unless", "bool", "offset"}
FUNCTIONS = {"sum", "max", "min", "avg", "rate", "increase", "deriv", "time"}
FUNCTIONS |= {"histogram_quantile"}
Exported = Mapping[str, list[Mapping[str, str]]]  # metric: the labels of its series


class Breaker:
    state, refused = "open", 1


class Generator:
    """Counts as the API generator does."""

    calls, hits, cost, tokens_in, tokens_out = 1, 1, 0.1, 10, 5
    errors: Mapping[str, int] = {"timeout": 1}
    breaker = Breaker()


@cache
def exported() -> Exported:
    """What is scraped once one of each event has happened."""
    job = JobMetrics()
    job.registry.register(ModelMetrics({"generator": Generator()}))
    lag = Lag(lambda: {0: Offsets(0, 1)})
    lag.refresh()
    job.registry.register(lag)
    health = Health(1.0, 1.0)
    job.registry.register(health)
    observer = Observer(CapturingLogger(), job, health, outbox_depth=lambda: 1, lag=lag)
    observer.polled([logged(b"x", 0)])
    observer.assigned(frozenset({0}))
    observer.held_back(1)
    verdict = replace(ANSWER.verdict, memory=MemoryVerdict(MemoryDecision.FALSIFIED))
    dead = replace(DEAD_LETTER, reason=ReasonClass.LATE)
    observer.outcomes([ANSWER, replace(ANSWER, verdict=verdict), dead], OBSERVED_AT + timedelta(60))
    for stage in ("atomic answers", "relations", "defence", "undefended answer", "batch"):
        observer.took(stage, 1.0, 1)
    observer.published(1)
    observer.committed({0: 1})
    observer.retried("publish", BrokerError("away"))
    collector = CollectingMetrics(SearchCounts(1, 1, 1))
    for gauge in (collector.watched, collector.overdue, collector.budget, collector.used):
        gauge.set(1)
    collector.failures.labels("throttled").inc()
    collector.collected(SNAPSHOT)
    collector.seconds.observe(1.0)
    return {"up": [{}], **labels_by_name(job.registry), **labels_by_name(collector.registry)}


def labels_by_name(registry: CollectorRegistry) -> Exported:
    found: dict[str, list[Mapping[str, str]]] = {}
    for family in registry.collect():
        for sample in family.samples:
            found.setdefault(sample.name, []).append(sample.labels)
    return found


def queries() -> Iterator[tuple[str, str, str]]:
    """(where, expression, legend) of every query of dashboard and rules."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"], target["legendFormat"]
    for rule in rules():
        yield rule["alert"], rule["expr"], ""


def rules() -> list[Any]:
    (group,) = yaml.safe_load(RULES.read_text())["groups"]
    return list(group["rules"])


def metrics_of(expression: str) -> set[str]:
    """Every word that is neither function, operator, label nor text, hence a metric."""
    bare = GROUPING.sub(" ", re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", expression))
    return set(WORD.findall(re.sub(r'"[^"]*"|\b\d[\w.]*', " ", bare))) - OPERATORS - FUNCTIONS


def problems(expression: str, legend: str = "") -> list[str]:
    """What an expression names that nothing exports."""
    named = metrics_of(expression)
    wrong = [f"no metric {name}" for name in named - exported().keys()]
    known = {label for name in named for one in exported().get(name, []) for label in one}
    known |= FROM_PROMETHEUS
    grouped = re.findall(r"\w+", " ".join(GROUPING.findall(expression)))
    grouped += re.findall(r"\{\{(\w+)\}\}", legend)
    wrong += [f"no label {label}" for label in grouped if label not in known]
    for name, matchers in SELECTOR.findall(expression):
        for label, operator, text in MATCHER.findall(matchers):
            if label in FROM_PROMETHEUS:
                continue
            values = {one[label] for one in exported().get(name, []) if label in one}
            wanted = set(text.split("|")) if "~" in operator else {text}
            wrong += [f"{name} has no {label}={value}" for value in wanted - values]
    return wrong


@pytest.mark.parametrize(
    ("expression", "legend"), [q[1:] for q in queries()], ids=[q[0] for q in queries()]
)
def test_every_expression_names_what_is_exported(expression: str, legend: str) -> None:
    assert metrics_of(expression), "no metric at all"
    assert problems(expression, legend) == []


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ("sum(radarstream_answer_total)", "no metric radarstream_answer_total"),
        ("sum(rate(radarstream_answers_total[5m])) / nothing", "no metric nothing"),
        ("sum by (query_id) (radarstream_answers_total)", "no label query_id"),
        ('radarstream_answers_total{outcome="mended"}', "radarstream_answers_total has no outcome"),
        ('up{job="x"} == 0 unless radarstream_nothing', "no metric radarstream_nothing"),
    ],
)
def test_the_check_finds_what_is_wrong(expression: str, problem: str) -> None:
    assert [p for p in problems(expression) if p.startswith(problem)]


def test_everything_that_is_exported_can_be_seen() -> None:
    """A metric that no panel shows would not be missed if it broke."""
    shown = {name for _, expression, _ in queries() for name in metrics_of(expression)}
    mine = {name for name in exported() if name.startswith("radarstream_")}
    seen, made = (
        {re.sub(r"_(bucket|sum|count|created|total)$", "", name) for name in names}
        for names in (shown, mine)
    )
    # The credits of one process are not shown, but the month's.
    assert made - seen <= {f"radarstream_{n}" for n in ("search_credits", "documents_collected")}


def test_no_series_names_a_query() -> None:
    labels = {label for every in exported().values() for one in every for label in one}
    assert labels.isdisjoint({"query_id", "query", "snapshot_id", "url", "title"})


def test_every_rule_has_its_own_test() -> None:
    """`promtool test rules` runs them where Prometheus is installed; here: that none is missing."""
    alerts = {rule["alert"] for rule in rules()}
    quiet, *_, firing = yaml.safe_load((RULES.parent / "alerts_test.yml").read_text())["tests"]
    assert {check["alertname"] for check in quiet["alert_rule_test"]} == alerts
    expected = firing["promql_expr_test"][0]["exp_samples"]
    assert {re.findall(r'"(\w+)"', sample["labels"])[0] for sample in expected} == alerts
