"""Perplexity: texts that read less like language than any benign text."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.attribution.outcome import (
    MaxTexts,
    flagged_beyond,
    judged,
    passages,
    unseparated,
)
from radarstream.defenses.attribution.protocol import Attributing
from radarstream.defenses.kernels.log_odds import LEAST
from radarstream.defenses.protocol import Complete, LogProbs, LogProbsAll, Request, Signal
from radarstream.defenses.responses import ask
from radarstream.schemas.attribution import Case
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT

METHOD: Final = "perplexity"
NOTHING_BEFORE: Final = Complete(Task.BARE_TEXT, "", (), final=False)


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Perplexity:
    """Flags texts of higher perplexity than every benign text.

    From "Detecting Language Model Attacks with Perplexity" and "Baseline Defenses for Adversarial
    Attacks Against Aligned Language Models" (PPL), as "Who Taught the Lie?" (RAGOrigin, section
    6.1.3) compares itself with it, with the largest perplexity of 1,000 random benign texts as
    threshold. Perplexity is exp of the mean negative logarithm of the probability of each token
    after those before it. A lie in plain language has none to speak of.

    Needs a model that tells token probabilities.

    Parameters
    ----------
    threshold
        Perplexity; texts above are flagged. `calibrated` sets it. None flags nothing.
    characters
        How much of a text is read, from its beginning; the same for benign texts. Bounds the cost
        and keeps one text within a model's context.
    max_texts
        How many texts are judged, from the best on.
    """

    threshold: Annotated[float, Field(ge=1.0)] | None = None
    characters: Annotated[int, Field(ge=1)] = 1_200
    max_texts: MaxTexts = None

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.TOKEN_PROBABILITIES})

    def calibrated(self, benign: Sequence[str]) -> Generator[Request, Any, "Perplexity"]:
        """The same with the highest perplexity of `benign` texts as threshold.

        Raises ValueError without texts, EvidenceError on malformed probabilities.
        """
        if not benign:
            raise ValueError("a threshold needs benign texts")
        scores = yield from self.measured(tuple(benign))
        return replace(self, threshold=float(scores.max()))

    def attribute(self, case: Case) -> Attributing:
        """Measure every text. Raises EvidenceError on malformed input or probabilities."""
        case = judged(case, self.max_texts)
        if len(case.texts) < 2:
            return unseparated(METHOD, case.texts)
        scores = yield from self.measured(passages(case.texts))
        return flagged_beyond(self.threshold, METHOD, case.texts, scores)

    def measured(self, texts: tuple[str, ...]) -> Generator[Request, Any, FloatArray]:
        """(n,) perplexities, 1 at least; 1 as well for a text without a character to read."""
        readable = [text[: self.characters].strip() for text in texts]
        asked = [text for text in dict.fromkeys(readable) if text]
        requests = tuple(LogProbs((NOTHING_BEFORE,), text) for text in asked)
        responses = yield from ask(LogProbsAll(requests))
        found = {"": 1.0}
        for text, response in zip(asked, responses, strict=True):
            found[text] = float(np.exp(-response.clip(LEAST, 0.0).mean()))
        return np.array([found[text] for text in readable])
