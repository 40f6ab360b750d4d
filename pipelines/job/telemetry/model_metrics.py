"""What the models counted themselves, read when Prometheus asks."""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any, Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from radarstream.pipelines.job.telemetry.metrics import read
from radarstream.pipelines.signals.ports import Models

BREAKER_STATES: Final = ("closed", "half_open", "open")


class ModelMetrics(Collector):
    """Exports what models counted themselves, under the name of their role, such as "generator".

    A model is asked first, then what it `wrapped`, its `client` last: a response cache counts calls
    and hits, a service's client tokens, `cost`, `errors` by kind, and the state of its `breaker`.
    What none of them has is not exported.
    """

    def __init__(self, models: Mapping[str, object]) -> None:
        self._models = {role: tuple(layers(model)) for role, model in models.items()}

    @classmethod
    def of(cls, models: Models) -> "ModelMetrics":
        """Return what exports the models of a guard."""
        return cls({field.name: getattr(models, field.name) for field in fields(models)})

    def collect(self) -> Iterator[Metric]:
        """Read everything once."""
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
        failed = [
            ([role, error], count)
            for role, errors in each("errors")
            for error, count in dict(errors).items()
        ]
        yield read(counter, "model_errors", "Failed attempts", ["model", "error"], failed)
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
    """Yield a model, what it wraps, and so on; then the client of the service that it asks."""
    while model is not None:
        yield model
        model = getattr(model, "wrapped", getattr(model, "client", None))
