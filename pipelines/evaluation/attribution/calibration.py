"""Thresholds that attributors take from benign texts (RAGOrigin, section 6.1.3: Norm and PPL)."""

from collections.abc import Generator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from radarstream.defenses.protocol import Request
from radarstream.pipelines.evaluation.attacks.corpus import Corpus
from radarstream.pipelines.signals.fulfilment import drive
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ModelError

TEXTS = 1_000


@runtime_checkable
class Calibrated(Protocol):
    """An attributor that flags what exceeds every benign text."""

    @property
    def threshold(self) -> float | None:
        """None while no benign text was measured."""
        ...

    def calibrated(self, benign: Sequence[str]) -> Generator[Request, Any, "Calibrated"]:
        """The same with the threshold of `benign` texts."""
        ...


def threshold_of(attributor: Calibrated, benign: Sequence[str], models: Models) -> float:
    """What no benign text exceeds. Raises ModelError when they cannot be measured."""
    (outcome,) = drive([attributor.calibrated(benign)], models)
    if isinstance(outcome, ModelError):
        raise outcome
    if outcome.threshold is None:
        raise ModelError("measuring benign texts gave no threshold")
    return outcome.threshold


def benign_sample(corpus: Corpus, seed: int) -> tuple[str, ...]:
    """At most `TEXTS` texts of a clean corpus, drawn by the seed."""
    passages = [entry.document.passage for entry in corpus.entries]
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(passages), min(TEXTS, len(passages)), replace=False)
    return tuple(passages[i] for i in drawn)
