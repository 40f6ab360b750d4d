"""Rerankers from what the command line says, and whether the models can serve them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from radarstream.defenses.protocol import Signal
from radarstream.defenses.retrieval.protocol import RetrievalDefense
from radarstream.defenses.retrieval.registry import RERANKERS, build_reranker
from radarstream.pipelines.evaluation.study.specs import ALL, option, plain, split_specs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.schemas.errors import ConfigurationError

REFERENCE = "none"  # what every other reranker is compared with


@dataclass(frozen=True, slots=True)
class RerankerSpec:
    """A reranker as it is compared. `name` is its heading, unique in a study."""

    name: str
    method: str
    options: tuple[tuple[str, Any], ...] = ()

    def build(self) -> RetrievalDefense:
        """Raises ConfigurationError for options that the method refuses."""
        return build_reranker(self.method, dict(self.options))


def parse_rerankers(text: str) -> tuple[RerankerSpec, ...]:
    """Read a list such as `gmtp,prog_rank:gate_temperature=0.1`; `all` stands for every method.

    `none` comes first and is never left out. Raises ConfigurationError for an empty list, for what
    cannot be read and for options that a method refuses.

    >>> [spec.name for spec in parse_rerankers("none")]
    ['none']
    """
    found = [RerankerSpec(REFERENCE, REFERENCE)]
    named = split_specs(text)
    if not named:
        raise ConfigurationError(
            f"no reranker is named; there are {', '.join(RERANKERS)}, and {ALL} for every one"
        )
    for spec in named:
        if spec == ALL:
            found += [RerankerSpec(name, name) for name in RERANKERS]
            continue
        method, _, rest = spec.partition(":")
        options = tuple(option(part) for part in rest.split(",") if part)
        settings = ",".join(f"{name}={plain(value)}" for name, value in options)
        found.append(RerankerSpec(f"{method}:{settings}" if settings else method, method, options))
    for one in found:
        one.build()
    return tuple({one.name: one for one in found}.values())


def servable(
    specs: Sequence[RerankerSpec], build: Callable[[frozenset[Signal]], Models], *, insisted: str
) -> tuple[tuple[RerankerSpec, ...], Models, tuple[str, ...]]:
    """The rerankers that models can serve, these models, and notes on those left out.

    `build` makes the models that offer some signals. Raises ConfigurationError for a reranker that
    `insisted`, the list it came from, names by itself.
    """
    named = set(split_specs(insisted))
    kept: list[RerankerSpec] = []
    notes: list[str] = []
    needs: frozenset[Signal] = frozenset()
    for spec in specs:
        method = spec.build()
        try:
            check_needs(method, build(method.needs))
        except ConfigurationError as error:
            if spec.name in named or spec.options:
                raise
            notes.append(f"{spec.name} is left out: {error}")
        else:
            kept.append(spec)
            needs |= method.needs
    return tuple(kept), build(needs), tuple(notes)
