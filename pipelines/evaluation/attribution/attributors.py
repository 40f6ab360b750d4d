"""Attributors from what the command line says, and whether the models can serve them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_origin, get_type_hints

from radarstream.defenses.attribution.protocol import Attributor
from radarstream.defenses.attribution.registry import ATTRIBUTORS, build_attributor
from radarstream.pipelines.evaluation.attribution.calibration import TEXTS, Calibrated
from radarstream.pipelines.evaluation.study.specs import ALL, option, plain, split_specs
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.schemas.errors import ConfigurationError

NO_CORPUS = (
    "the questions bring no documents, so that all texts searched are planted ones: name a data "
    "set that has some as another --dataset"
)


@dataclass(frozen=True, slots=True)
class Spec:
    """An attributor as it is compared. `name` is its heading, unique in a study."""

    name: str
    method: str
    options: tuple[tuple[str, Any], ...] = ()

    def build(self) -> Attributor:
        """Raises ConfigurationError for options that the method refuses."""
        hints = get_type_hints(ATTRIBUTORS.get(self.method, object))
        options = {
            name: frozenset(str(value).split("+")) if is_set(hints.get(name)) else value
            for name, value in self.options
        }
        return build_attributor(self.method, options)


def is_set(hint: Any) -> bool:
    """Whether an option takes several values, written with a plus between them."""
    return get_origin(hint) is frozenset


def parse_attributors(text: str) -> tuple[Spec, ...]:
    """Read a list such as `norm,rag_origin:scores=similarity+semantic`; `all` stands for every
    method.

    Raises ConfigurationError for what cannot be read and for options that a method refuses.
    """
    found: list[Spec] = []
    for spec in split_specs(text):
        if spec == ALL:
            found += [Spec(name, name) for name in ATTRIBUTORS]
            continue
        method, _, rest = spec.partition(":")
        options = tuple(option(part) for part in rest.split(",") if part)
        settings = ",".join(f"{name}={plain(value)}" for name, value in options)
        found.append(Spec(f"{method}:{settings}" if settings else method, method, options))
    for one in found:
        one.build()
    return tuple({one.name: one for one in found}.values())


def servable(
    specs: Sequence[Spec], models: Models, benign: int, *, insisted: str
) -> tuple[tuple[Spec, ...], tuple[str, ...]]:
    """The attributors that the models and the `benign` texts of the corpus can serve, and notes on
    those left out.

    Raises ConfigurationError for one that `insisted`, the list it came from, names by itself.
    """
    named = set(split_specs(insisted))
    kept: list[Spec] = []
    notes = [] if benign else [NO_CORPUS]
    for spec in specs:
        try:
            check_needs(spec.build(), models)
            check_benign(spec, benign)
        except ConfigurationError as error:
            if spec.name in named or spec.options:
                raise
            notes.append(f"{spec.name} is left out: {error}")
        else:
            kept.append(spec)
    if not kept:
        raise ConfigurationError("; ".join(["no attributor to evaluate", *notes]))
    few = [spec.name for spec in kept if benign < TEXTS and is_uncalibrated(spec)]
    if few:
        of = counted_noun(benign, "benign text")
        notes.append(f"thresholds of {', '.join(few)} come from {of}, not from {TEXTS:,}")
    return tuple(kept), tuple(notes)


def is_uncalibrated(spec: Spec) -> bool:
    """Whether an attributor is to be given its threshold by benign texts."""
    attributor = spec.build()
    return isinstance(attributor, Calibrated) and attributor.threshold is None


def check_benign(spec: Spec, benign: int) -> None:
    """Raise ConfigurationError for a threshold that would come from no text at all."""
    if not benign and is_uncalibrated(spec):
        raise ConfigurationError(
            f"{spec.name} takes its threshold from benign texts, and the questions bring no "
            "documents: name a data set that has some as another --dataset, or give a threshold"
        )
