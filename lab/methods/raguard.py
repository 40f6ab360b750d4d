"""RAGuard, leave one out: a candidate without which the answer changes by far the most goes."""

from dataclasses import replace
from typing import Annotated, Final

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.kernels.responsibility import standard_scores
from radarstream.defenses.protocol import (
    Asking,
    AttemptAll,
    Complete,
    Embed,
    LogProbs,
    LogProbsAll,
    Reordering,
    Signal,
    ask,
)
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.lab.kernels.ablations import surprise
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Task
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT

DECIMALS: Final = 9  # differences of less are a model's rounding
UNSAID: Final = "I don't know"  # what is read in place of an abstention without words


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RaguardLeaveOneOut:
    """Answers from the nearest K candidates, and from all but each of them.

    The inference-time part of "RAGuard: A Layered Defense Framework for Retrieval-Augmented
    Generation Systems Against Data Poisoning" by Kolhe et al.; its trained retriever is not part
    of it, and how it combines its signals is not public. Here a candidate's score is the sum of
    two standard scores among the K: of the shift in the answer's meaning (1 - cosine) when the
    candidate is left out, and of how much less uncertain the answer then is. Uncertainty is the
    mean negative log-probability of the answer's tokens from its own passages.

    Judges the nearest K alone: what it drops is not replaced by the next candidate, which it has
    not read. One candidate stays, and so does one without which no answer came. A lone spike among
    n scores at most sqrt(n - 1), so that with four candidates one signal alone cannot exceed 1.8.
    Costs K + 1 answers, and as many readings with `entropy`.

    Parameters
    ----------
    threshold
        Candidates with a higher score are dropped.
    remove_count
        At most so many, the highest first.
    entropy
        Whether uncertainty is asked; without it the shift decides alone.
    characters
        How much of an answer is read to tell its uncertainty, from its beginning.
    """

    threshold: float = 1.8
    remove_count: Annotated[int, Field(ge=0)] = 1
    entropy: bool = True
    characters: Annotated[int, Field(ge=1)] = 1_200

    @property
    def needs(self) -> frozenset[Signal]:
        """Token probabilities, where uncertainty is asked."""
        return frozenset({Signal.TOKEN_PROBABILITIES}) if self.entropy else frozenset()

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Drop the spikes among the nearest. Raises EvidenceError on malformed input."""
        pool = checked_pool(pool)
        count = len(pool.documents)
        judged = min(pool.keep, count)
        if judged < 2:
            return reranked("raguard", pool, range(count))
        found = yield from self.scores(pool, judged)
        highest = np.argsort(-found, kind="stable")[: self.remove_count].tolist()
        suspects = frozenset(place for place in highest if found[place] > self.threshold)
        scores = np.concatenate([found, np.full(count - judged, np.nan)])
        fewer = replace(pool, keep=judged - len(suspects))
        return reranked("raguard", fewer, range(count), suspects=suspects, penalties=scores)

    def scores(self, pool: CandidatePool, judged: int) -> Asking[FloatArray]:
        """(judged,) how suspect each of the nearest is; NaN where the answer without it failed."""
        shown = tuple(document.passage for document in pool.documents[:judged])
        whole = asked_from(pool, shown)
        without = tuple(
            asked_from(pool, shown[:place] + shown[place + 1 :]) for place in range(judged)
        )
        reply = yield from ask(whole)
        replies = yield from ask(AttemptAll(without))
        known = [place for place, told in enumerate(replies) if not isinstance(told, ModelError)]
        rows = (whole, *(without[place] for place in known))
        heard = (reply, *(replies[place] for place in known))
        answers = tuple(answer.text.strip() or UNSAID for answer in heard)
        points = yield from ask(Embed(answers))
        signals = [np.round(1.0 - points[1:] @ points[0], DECIMALS)]
        if self.entropy:
            read = (answer[: self.characters] for answer in answers)
            asked = tuple(LogProbs((row,), part) for row, part in zip(rows, read, strict=True))
            told = yield from ask(LogProbsAll(asked))
            uncertain = np.array([surprise(logs) for logs in told])
            signals.append(np.round(uncertain[0] - uncertain[1:], DECIMALS))
        found = np.full(judged, np.nan)
        found[known] = np.sum([standard_scores(signal) for signal in signals], axis=0)
        return found


def asked_from(pool: CandidatePool, passages: tuple[str, ...]) -> Complete:
    """The question to the generator with these passages; its reply is nobody's answer."""
    return Complete(Task.ANSWER_FROM_DOCUMENTS, pool.query.text, passages, final=False)
