"""Attributors from what the command line says, and whether models and corpus can serve them."""

from collections.abc import Sequence

import numpy as np

from radarstream.defenses.protocol import Attributor
from radarstream.defenses.registry import ATTRIBUTORS, build_attributor
from radarstream.lab.attacks.corpus import Corpus
from radarstream.lab.methods.thresholds import Thresholded
from radarstream.lab.study.specs import ALL, Spec, expanded, servable
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.wording import counted_noun

TEXTS = 1_000  # benign ones, from which thresholds are taken (RAGOrigin, section 6.1.3)
NO_CORPUS = (
    "the questions bring no documents, so that all texts searched are planted ones: name a data "
    "set that has some as another --dataset"
)


def attributor_of(spec: Spec) -> Attributor:
    """Raises ConfigurationError for an unknown method, and for options that it refuses."""
    return build_attributor(spec.method, dict(spec.options))


def parse_attributors(text: str) -> tuple[Spec, ...]:
    """Read a list such as `norm,rag_origin:block=2`; `all` stands for every method.

    Raises ConfigurationError for what cannot be read and for options that a method refuses.
    """
    specs = {spec.name: spec for spec in map(Spec.of, expanded(text, {ALL: ATTRIBUTORS}))}
    for spec in specs.values():
        attributor_of(spec)
    return tuple(specs.values())


def served(
    specs: Sequence[Spec], models: Models, benign: int, insisted: str
) -> tuple[tuple[Spec, ...], tuple[str, ...]]:
    """The attributors that the models and the `benign` texts of the corpus can serve, and notes on
    those left out.

    Raises ConfigurationError for one that `insisted`, the list it came from, names by itself.
    """

    def check(spec: Spec) -> None:
        attributor = attributor_of(spec)
        check_needs(attributor, models)
        if wants_threshold(attributor) and not benign:
            raise ConfigurationError(
                f"{spec.name} takes its threshold from benign texts, and the questions bring no "
                "documents: name a data set that has some as another --dataset, or give a threshold"
            )

    kept, left_out = servable(specs, check, insisted)
    notes = [*([] if benign else [NO_CORPUS]), *left_out]
    if not kept:
        raise ConfigurationError("; ".join(["no attributor to evaluate", *notes]))
    uncalibrated = [spec.name for spec in kept if wants_threshold(attributor_of(spec))]
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
