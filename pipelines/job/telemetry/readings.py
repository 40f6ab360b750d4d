"""Metrics read when Prometheus asks: of models, a search client and the database."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy.exc import SQLAlchemyError

from radarstream.connectors.search.paged import SearchCounts
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.incidents import ComplaintState, Status

NAMESPACE: Final = "radarstream"
BREAKER_STATES: Final = ("closed", "half_open", "open")
ReadT = TypeVar("ReadT", CounterMetricFamily, GaugeMetricFamily)
# complaints by state, incidents by status, texts in quarantine
Backlog = tuple[dict[str, int], dict[str, int], int]


def read(
    kind: type[ReadT],
    name: str,
    text: str,
    labels: Sequence[str],
    samples: Iterable[tuple[Sequence[str], float]],
) -> ReadT:
    """Make a family of samples, each with the values of its labels."""
    family = kind(f"{NAMESPACE}_{name}", text, labels=labels)
    for values, value in samples:
        family.add_metric(values, value)
    return family


class ModelMetrics(Collector):
    """Exports counts of models by role, such as "generator": `calls`, `hits`, tokens, `cost`,
    `errors`, `breaker`, `judgements`. Each is read from the model, else from the model it wraps
    (`wrapped`), else from its `client`.
    """

    def __init__(self, models: Mapping[str, object]) -> None:
        self._models = {role: tuple(layers(model)) for role, model in models.items()}

    @classmethod
    def of(cls, models: Models) -> "ModelMetrics":
        """Return the metrics of a guard's models."""
        return cls({field.name: getattr(models, field.name) for field in fields(models)})

    def collect(self) -> Iterator[Metric]:
        """Read all counts once."""
        counter, each = CounterMetricFamily, self._each
        for attribute, name, text in (
            ("calls", "calls", "Requests that reached the model"),
            ("hits", "cache_hits", "Requests answered by the response cache"),
            ("cost", "cost", "Price of the tokens, in the currency of the settings"),
        ):
            counts = [([role], count) for role, count in each(attribute)]
            yield read(counter, f"model_{name}", text, ["model"], counts)
        directions = {"tokens_in": "in", "tokens_out": "out"}
        tokens = [([role, way], n) for name, way in directions.items() for role, n in each(name)]
        text = "Tokens, as the service says"
        yield read(counter, "model_tokens", text, ["model", "direction"], tokens)
        judged = "Pairs of answers that a language model relates, by what decided"
        for attribute, name, text, label in (
            ("errors", "model_errors", "Failed attempts", "error"),
            ("judgements", "relation_judgements", judged, "decided_by"),
        ):
            counts = [
                ([role, key], n) for role, by in each(attribute) for key, n in dict(by).items()
            ]
            yield read(counter, name, text, ["model", label], counts)
        breakers = [(role, breaker.state, breaker.refused) for role, breaker in each("breaker")]
        yield read(
            GaugeMetricFamily,
            "breaker_state",
            "1 for the state that the model's circuit breaker is in",
            ["model", "state"],
            [([role, s], float(s == now)) for role, now, _ in breakers for s in BREAKER_STATES],
        )
        refused = [([role], count) for role, _, count in breakers]
        yield read(counter, "breaker_refused", "Calls not let through", ["model"], refused)

    def _each(self, attribute: str) -> Iterator[tuple[str, Any]]:
        """Yield each role's attribute of the outermost layer that has it."""
        for role, models in self._models.items():
            for model in models:
                if hasattr(model, attribute):
                    yield role, getattr(model, attribute)
                    break


def layers(model: object) -> Iterator[object]:
    """Yield a model, the models it wraps, and the client of its service."""
    while model is not None:
        yield model
        model = getattr(model, "wrapped", getattr(model, "client", None))


@dataclass(frozen=True, eq=False)
class BacklogMetrics(Collector):
    """Exports the backlog in the database; no samples while the database does not answer."""

    stored: Callable[[], Backlog]

    def collect(self) -> Iterator[Metric]:
        """Read the database once."""
        try:
            states, statuses, held = self.stored()
            complaints = [([state.value], states.get(state, 0)) for state in ComplaintState]
            incidents = [([status.value], statuses.get(status, 0)) for status in Status]
            texts = [((), held)]
        except SQLAlchemyError:
            complaints, incidents, texts = [], [], []
        gauge = GaugeMetricFamily
        yield read(gauge, "complaints_stored", "Complaints in the database", ["state"], complaints)
        yield read(
            gauge, "incidents_stored", "Attributed incidents by status", ["status"], incidents
        )
        yield read(gauge, "quarantined_texts", "Texts left out at present", (), texts)


@dataclass(frozen=True, eq=False)
class SearchMetrics(Collector):
    """Exports the counts of a search client."""

    counts: SearchCounts

    def collect(self) -> Iterator[Metric]:
        """Read the counts."""
        for name, text, value in (
            ("requests", "Pages of results asked for", self.counts.requests),
            ("retries", "Requests sent again", self.counts.retries),
            ("credits", "Credits spent by this process", self.counts.credits),
        ):
            yield read(CounterMetricFamily, f"search_{name}", text, (), [((), value)])
