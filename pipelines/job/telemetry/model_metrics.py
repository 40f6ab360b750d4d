"""What the models counted themselves, read when Prometheus asks."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from radarstream.pipelines.signals.ports import Models

# attribute of a model: metric and its help text
COUNTS: Final = {
    "calls": ("radarstream_model_calls", "Requests that reached the model"),
    "hits": ("radarstream_model_cache_hits", "Requests answered by the response cache"),
    "cost": ("radarstream_model_cost", "Price of the tokens, in the currency of the settings"),
}
TOKENS: Final = {"tokens_in": "in", "tokens_out": "out"}
BREAKER_STATES: Final = ("closed", "half_open", "open")


class ModelMetrics(Collector):
    """Exports plain attributes of models under the name of their role, such as "generator".

    A model is asked first, then what it `wrapped`, its `client` last: a response cache counts calls
    and hits, a service's client tokens, `cost`, `errors` by kind, and the state of its `breaker`.
    What none of them has is not exported.
    """

    def __init__(self, models: Mapping[str, object]) -> None:
        self._models = {role: tuple(layers(model)) for role, model in models.items()}

    @classmethod
    def of(cls, models: Models) -> "ModelMetrics":
        """Return what exports the models of a guard."""
        roles = {field.name: getattr(models, field.name) for field in fields(models)}
        return cls(roles)

    def collect(self) -> Iterator[Metric]:
        """Read everything once."""
        for attribute, (name, text) in COUNTS.items():
            family = CounterMetricFamily(name, text, labels=["model"])
            for role, count in self._each(attribute):
                family.add_metric([role], count)
            yield family
        yield self._tokens()
        yield self._errors()
        yield from self._breakers()

    def _each(self, attribute: str) -> Iterator[tuple[str, Any]]:
        """Yield each role's attribute of the outermost layer that has it."""
        for role, models in self._models.items():
            for model in models:
                if hasattr(model, attribute):
                    yield role, getattr(model, attribute)
                    break

    def _tokens(self) -> Metric:
        family = CounterMetricFamily(
            "radarstream_model_tokens", "Tokens, as the service says", labels=["model", "direction"]
        )
        for attribute, direction in TOKENS.items():
            for role, count in self._each(attribute):
                family.add_metric([role, direction], count)
        return family

    def _errors(self) -> Metric:
        family = CounterMetricFamily(
            "radarstream_model_errors", "Failed attempts", labels=["model", "error"]
        )
        for role, errors in self._each("errors"):
            for error, count in dict(errors).items():
                family.add_metric([role, error], count)
        return family

    def _breakers(self) -> Iterator[Metric]:
        state = GaugeMetricFamily(
            "radarstream_breaker_state",
            "1 for the state that the model's circuit breaker is in",
            labels=["model", "state"],
        )
        refused = CounterMetricFamily(
            "radarstream_breaker_refused", "Calls not let through", labels=["model"]
        )
        for role, breaker in self._each("breaker"):
            current = breaker.state
            for name in BREAKER_STATES:
                state.add_metric([role, name], float(name == current))
            refused.add_metric([role], breaker.refused)
        yield state
        yield refused


def layers(model: object) -> Iterator[object]:
    """Yield a model, what it wraps, and so on; then the client of the service that it asks."""
    while model is not None:
        yield model
        model = getattr(model, "wrapped", getattr(model, "client", None))
