"""Attributors from what the command line says, and whether models and corpus can serve them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_origin, get_type_hints

import numpy as np

from radarstream.defenses.attribution.protocol import Attributor
from radarstream.defenses.attribution.registry import ATTRIBUTORS, build_attributor
from radarstream.defenses.attribution.thresholds import Thresholded
from radarstream.pipelines.evaluation.attacks.corpus import Corpus
from radarstream.pipelines.evaluation.study.specs import ALL, option, plain, split_specs
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.schemas.errors import ConfigurationError

TEXTS = 1_000  # benign ones, from which thresholds are taken (RAGOrigin, section 6.1.3)
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
        """Raises ConfigurationError for options that the method refuses.

        An option that takes several values has a plus between them.
        """
        hints = get_type_hints(ATTRIBUTORS.get(self.method, object))
        options = {
            name: frozenset(str(value).split("+"))
            if get_origin(hints.get(name)) is frozenset
            else value
            for name, value in self.options
        }
        return build_attributor(self.method, options)


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
    uncalibrated: list[str] = []
    notes = [] if benign else [NO_CORPUS]
    for spec in specs:
        try:
            attributor = spec.build()
            check_needs(attributor, models)
            if wants_threshold(attributor):
                _check_benign(spec, benign)
                uncalibrated.append(spec.name)
        except ConfigurationError as error:
            if spec.name in named or spec.options:
                raise
            notes.append(f"{spec.name} is left out: {error}")
        else:
            kept.append(spec)
    if not kept:
        raise ConfigurationError("; ".join(["no attributor to evaluate", *notes]))
    if uncalibrated and benign < TEXTS:
        of = counted_noun(benign, "benign text")
        notes.append(f"thresholds of {', '.join(uncalibrated)} come from {of}, not from {TEXTS:,}")
    return tuple(kept), tuple(notes)


def wants_threshold(attributor: Attributor) -> bool:
    """Whether an attributor is to be given its threshold by benign texts."""
    return isinstance(attributor, Thresholded) and attributor.threshold is None


def benign_sample(corpus: Corpus, seed: int) -> tuple[str, ...]:
    """At most `TEXTS` texts of a clean corpus, drawn by the seed."""
    passages = [entry.document.passage for entry in corpus.entries]
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(passages), min(TEXTS, len(passages)), replace=False)
    return tuple(passages[i] for i in drawn)


def _check_benign(spec: Spec, benign: int) -> None:
    if not benign:
        raise ConfigurationError(
            f"{spec.name} takes its threshold from benign texts, and the questions bring no "
            "documents: name a data set that has some as another --dataset, or give a threshold"
        )
