"""Norm: texts whose embedding is longer than that of any benign text."""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Final

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
from radarstream.defenses.protocol import Norms, Request, Signal
from radarstream.defenses.responses import ask
from radarstream.schemas.attribution import Case
from radarstream.schemas.snapshot import STRICT

METHOD: Final = "norm"


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Norm:
    """Flags texts whose embedding is longer, before normalisation, than every benign text's.

    From "Poisoning Retrieval Corpora by Injecting Adversarial Passages" (EMNLP 2023), as
    "Who Taught the Lie?" (RAGOrigin, section 6.1.3) compares itself with it, with the largest norm
    of 1,000 random benign texts as threshold. An attacker whose retriever compares cosines gains
    nothing from a long embedding, and texts optimised for nothing have none.

    Needs an embedder that tells the lengths it takes away: those of unit rows are all 1.

    Parameters
    ----------
    threshold
        Euclidean length; longer embeddings are flagged. `calibrated` sets it. None flags nothing.
    max_texts
        How many texts are judged, from the best on.
    """

    threshold: Annotated[float, Field(gt=0.0)] | None = None
    max_texts: MaxTexts = None

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.EMBEDDING_NORMS})

    def calibrated(self, benign: Sequence[str]) -> Generator[Request, Any, "Norm"]:
        """The same with the longest embedding of `benign` texts as threshold.

        Raises ValueError without texts, EvidenceError on malformed lengths.
        """
        if not benign:
            raise ValueError("a threshold needs benign texts")
        lengths = yield from ask(Norms(tuple(benign)))
        return replace(self, threshold=float(lengths.max()))

    def attribute(self, case: Case) -> Attributing:
        """Measure every text. Raises EvidenceError on malformed input or lengths."""
        case = judged(case, self.max_texts)
        if len(case.texts) < 2:
            return unseparated(METHOD, case.texts)
        lengths = yield from ask(Norms(passages(case.texts)))
        return flagged_beyond(self.threshold, METHOD, case.texts, lengths)
