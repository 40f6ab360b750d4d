"""Attributors from what the command line says, and whether models and corpus can serve them."""

from collections.abc import Sequence

from radarstream.defenses.attribution.protocol import Attributor
from radarstream.defenses.attribution.registry import ATTRIBUTORS, build_attributor
from radarstream.pipelines.evaluation.study.specs import ALL, Spec, expanded, servable
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.schemas.errors import ConfigurationError

NO_CORPUS = (
    "the questions bring no documents, so that all texts searched are planted ones: name a data "
    "set that has some as another --dataset"
)


def attributor_of(spec: Spec) -> Attributor:
    """Raises ConfigurationError for an unknown method, and for options that it refuses."""
    return build_attributor(spec.method, dict(spec.options))


def parse_attributors(text: str) -> tuple[Spec, ...]:
    """Read a list such as `pfdnn,rag_origin:block=2`; `all` stands for every method.

    Raises ConfigurationError for what cannot be read and for options that a method refuses.
    """
    specs = {spec.name: spec for spec in map(Spec.of, expanded(text, {ALL: ATTRIBUTORS}))}
    for spec in specs.values():
        attributor_of(spec)
    return tuple(specs.values())


def served(
    specs: Sequence[Spec], models: Models, benign: int, insisted: str
) -> tuple[tuple[Spec, ...], tuple[str, ...]]:
    """The attributors that the models can serve, and notes: on those left out, and on a corpus
    without `benign` texts.

    Raises ConfigurationError for one that `insisted`, the list it came from, names by itself.
    """

    def check(spec: Spec) -> None:
        check_needs(attributor_of(spec), models)

    kept, left_out = servable(specs, check, insisted)
    notes = [*([] if benign else [NO_CORPUS]), *left_out]
    if not kept:
        raise ConfigurationError("; ".join(["no attributor to evaluate", *notes]))
    return tuple(kept), tuple(notes)
