"""Dashboard and alert rules name only metrics, labels and label values that are exported."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client import CollectorRegistry
from structlog.testing import CapturingLogger

from radarstream.connectors.kafka.topic_reader import Offsets
from radarstream.connectors.search.paged import SearchCounts
from radarstream.pipelines.job.telemetry.endpoint import Health
from radarstream.pipelines.job.telemetry.metrics import CollectingMetrics, JobMetrics
from radarstream.pipelines.job.telemetry.observing import Lag, Observer
from radarstream.pipelines.job.telemetry.readings import ModelMetrics
from radarstream.schemas.errors import BrokerError, ReasonClass
from radarstream.schemas.verdict import MemoryDecision, MemoryVerdict
from tests.builders import logged
from tests.wire_samples import ANSWER, DEAD_LETTER, OBSERVED_AT, SNAPSHOT

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
    return {"up": [{}], **series(job.registry), **series(collector.registry)}


def series(registry: CollectorRegistry) -> Exported:
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
