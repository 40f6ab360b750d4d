"""Leave one out: texts without which the wrong answer becomes less likely."""

from typing import ClassVar, Final

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.attribution.outcome import (
    MaxTexts,
    judged,
    log_probs_from,
    passages,
    split_by,
    unseparated,
)
from radarstream.defenses.attribution.protocol import Attributing
from radarstream.defenses.kernels.log_odds import total
from radarstream.defenses.protocol import Signal
from radarstream.schemas.attribution import Case
from radarstream.schemas.snapshot import STRICT

METHOD: Final = "leave_one_out"


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class LeaveOneOut:
    """Scores a text by how much the answer's log-likelihood drops when the text is left out.

    What "AttriBoT: A Bag of Tricks for Efficiently Approximating Leave-One-Out Context Attribution"
    approximates, here without its tricks: exact, for one reading of the texts more than
    there are. The paper stops at scores; two-means in one dimension flags the higher group.

    Texts that say the same mask each other: without one of them the other still teaches the answer,
    so that neither drop tells anything.

    Needs a model that tells token probabilities.

    Parameters
    ----------
    max_texts
        How many texts are shown and judged, from the best on.
    """

    max_texts: MaxTexts = None

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.TOKEN_PROBABILITIES})

    def attribute(self, case: Case) -> Attributing:
        """Score the answer with and without. Raises EvidenceError on malformed input."""
        case = judged(case, self.max_texts)
        shown = passages(case.texts)
        if len(set(shown)) < 2:
            return unseparated(METHOD, case.texts)
        contexts = [shown, *(shown[:i] + shown[i + 1 :] for i in range(len(shown)))]
        likelihoods = total((yield from log_probs_from(contexts, case)))
        return split_by(METHOD, case.texts, likelihoods[0] - likelihoods[1:])
