"""The attention-variance filter: a passage that an answer hangs on by far the most is dropped."""

from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import Asking, Complete, Reordering, ask
from radarstream.defenses.retrieval.pools import checked_pool, judged_first, reranked
from radarstream.lab.insights import ATTENTION, AttentionQuery, Insights
from radarstream.pipelines.signals.prompts import prompts_of
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Task
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class AttentionVariance:
    """Drops the passage with the largest share of attention while the shares vary too much.

    "Adaptive Defense Orchestration for RAG", Algorithm 2: the model answers from the nearest
    candidates, and says how the attention of its answer is shared among them, in percent. They are
    shown anew in ascending order of their shares, twice, so that a place in the prompt counts
    little. While the population variance of the shares is above `threshold`, the candidate with
    the largest is dropped and the model answers again. What stays keeps its order, and what is
    dropped is not replaced by a candidate that was not read.

    Of equal shares the candidate less similar to the question goes first. One always stays. Without
    any attention, as for an answer without a word, nothing is dropped. Costs at most
    `max_corruptions` + 2 answers, and as many readings of them.

    Parameters
    ----------
    threshold
        In percent squared: 26.2 is the published code's default, 50 that of the paper. With 10
        passages and the others alike, one is dropped that has more than 25.4 % or 31.2 %.
    max_corruptions
        At most so many are dropped: R, the number of planted texts that is reckoned with.
    multiple
        So many times the wanted candidates are judged, the nearest.
    """

    threshold: Annotated[float, Field(ge=0.0)] = 26.2
    max_corruptions: Annotated[int, Field(ge=0)] = 3
    multiple: Annotated[int, Field(ge=1)] = 3

    needs: ClassVar[frozenset[str]] = frozenset({ATTENTION})

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Drop what dominates. Raises EvidenceError on malformed input."""
        pool = checked_pool(pool)
        count, judged = len(pool.documents), judged_first(pool, self.multiple)
        if judged < 2:
            return reranked("attention_variance", pool, range(count))
        shares = np.full(count, np.nan)
        order = np.arange(judged)
        for _ in range(2):
            found = yield from self.look(pool, order, shares)
            order = order[np.argsort(found, kind="stable")]
        suspects: set[int] = set()
        while len(suspects) < self.max_corruptions:
            found = yield from self.look(pool, order, shares)
            by_place = np.argsort(order)  # so that of equal shares the last is the least similar
            worst = most_attended(found[by_place], self.threshold)
            if worst is None:
                break
            place = int(order[by_place[worst]])
            suspects.add(place)
            order = order[order != place]
        fewer = replace(pool, keep=min(pool.keep, judged - len(suspects)))
        return reranked(
            "attention_variance",
            fewer,
            range(count),
            suspects=frozenset(suspects),
            penalties=shares,
        )

    def look(
        self, pool: CandidatePool, order: np.ndarray, shares: FloatArray
    ) -> Asking[FloatArray]:
        """(m,) shares of the candidates at these places, shown in this order. Each is noted in
        `shares`, by its place.
        """
        passages = tuple(pool.documents[place].passage for place in order)
        row = Complete(Task.ANSWER_FROM_DOCUMENTS, pool.query.text, passages, final=False)
        reply = yield from ask(row)
        (prompt,) = prompts_of([row])
        (found,) = yield from ask(Insights((AttentionQuery(prompt, reply.text),)))
        shares[order] = found
        return np.asarray(found)


def most_attended(shares: FloatArray, threshold: float) -> int | None:
    """Place of the largest of (n,) percentages, n >= 1; None if their population variance, in
    percent squared, is at most `threshold`. Of equal ones the last.
    """
    if shares.var() <= threshold:
        return None
    return len(shares) - 1 - int(np.argmax(shares[::-1]))
