"""Norm and perplexity: texts that exceed every benign text."""

from abc import abstractmethod
from collections.abc import Generator, Sequence
from typing import Annotated, Any, ClassVar, Final

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import (
    Complete,
    LogProbs,
    LogProbsAll,
    Norms,
    Request,
    Signal,
    ask,
)
from radarstream.lab.kernels.ablations import surprise
from radarstream.lab.methods.attribution_baseline import Baseline, Judging
from radarstream.schemas.attribution import Case
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT

NOTHING_BEFORE: Final = Complete(Task.BARE_TEXT, "", (), final=False)
_UNCALIBRATED: Final = "no threshold: nothing to compare with until benign texts are measured"


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Thresholded(Baseline):
    """Flags texts that measure more than a threshold.

    "Who Taught the Lie?" (RAGOrigin, section 6.1.3) compares itself with such methods, with the
    largest value of 1,000 random benign texts as threshold.

    Parameters
    ----------
    threshold
        Texts above it are flagged; see `threshold_from`. None flags nothing.
    """

    threshold: float | None = None

    def threshold_from(self, benign: Sequence[str]) -> Generator[Request, Any, float]:
        """The largest value of `benign` texts. Raises ValueError without texts."""
        if not benign:
            raise ValueError("a threshold needs benign texts")
        values = yield from self.measured(tuple(benign))
        return float(values.max())

    def judge(self, case: Case, shown: tuple[str, ...]) -> Judging:
        """Measure every text."""
        values = yield from self.measured(shown)
        if self.threshold is None:
            nobody = np.zeros(len(values), np.bool_)
            return self.flagged(nobody, case.texts, values, _UNCALIBRATED)
        return self.flagged(values > self.threshold, case.texts, values)

    @abstractmethod
    def measured(self, texts: tuple[str, ...]) -> Generator[Request, Any, FloatArray]:
        """(n,) values of texts."""


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Norm(Thresholded):
    """Measures the Euclidean length of a text's embedding before normalisation.

    From "Poisoning Retrieval Corpora by Injecting Adversarial Passages" (EMNLP 2023). An attacker
    whose retriever compares cosines gains nothing from a long embedding, and texts optimised for
    nothing have none. Needs an embedder that returns these lengths: those of unit rows are all 1.
    """

    threshold: Annotated[float, Field(gt=0.0)] | None = None

    method: ClassVar[str] = "norm"
    needs: ClassVar[frozenset[Signal]] = frozenset()

    def measured(self, texts: tuple[str, ...]) -> Generator[Request, Any, FloatArray]:
        """(n,) lengths, positive."""
        return (yield from ask(Norms(texts)))


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Perplexity(Thresholded):
    """Measures exp of the mean negative logarithm of the probability of each token of a text.

    From "Detecting Language Model Attacks with Perplexity" and "Baseline Defenses for Adversarial
    Attacks Against Aligned Language Models" (PPL). A lie in plain language is not perplexing.
    Needs a model that returns token probabilities.

    Parameters
    ----------
    characters
        How much of a text is read, from its beginning; the same for benign texts. Bounds the cost
        and keeps one text within a model's context.
    """

    threshold: Annotated[float, Field(ge=1.0)] | None = None
    characters: Annotated[int, Field(ge=1)] = 1_200

    method: ClassVar[str] = "perplexity"
    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.TOKEN_PROBABILITIES})

    def measured(self, texts: tuple[str, ...]) -> Generator[Request, Any, FloatArray]:
        """(n,) perplexities, 1 at least; 1 as well for a text without a character to read. Equal
        texts are read once.
        """
        readable = [text[: self.characters].strip() for text in texts]
        asked = [text for text in dict.fromkeys(readable) if text]
        requests = tuple(LogProbs((NOTHING_BEFORE,), text) for text in asked)
        found = {"": 1.0}
        for text, logs in zip(asked, (yield from ask(LogProbsAll(requests))), strict=True):
            found[text] = float(np.exp(surprise(logs)))
        return np.array([found[text] for text in readable])
