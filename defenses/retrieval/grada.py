"""GRADA: prefers candidates that are like many others, beyond their likeness to the question."""

import re
from typing import Annotated, ClassVar, Final, Literal

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.kernels.grada import beyond_affinity, bm25, pagerank
from radarstream.defenses.protocol import Asking, Embed, Reordering, Signal, ask
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT

SAME_DECIMALS: Final = 12  # scores that are equal to these are ordered by similarity
_WORD: Final = re.compile(r"\w+")


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Grada:
    """Ranks candidates by PageRank in a graph of their similarities.

    "GRADA: Graph-based Reranking against Adversarial Documents Attack", with its weights HRSIM:
    the similarity of two passages less `alpha` times the affinity of each to the question. Planted
    passages are like the question, honest ones like each other. Without edges, the order stays.

    The published code scores BM25 in an index of a single text, where every word is equally rare;
    here the statistics are those of the candidates.

    Parameters
    ----------
    likeness
        "bm25" of the words, without a model, or "dense": cosines of the embeddings, with the
        retriever's similarities as affinities.
    alpha
        Weight of the affinity to the question.
    damping
        Damping factor of PageRank.
    normalised
        Whether to divide likenesses and affinities by the largest of their kind in the pool, unlike
        the published code. Passages share more words with each other than with a short question, so
        that the meaning of `alpha` would depend on the scale of BM25.
    """

    likeness: Literal["bm25", "dense"] = "bm25"
    alpha: Annotated[float, Field(ge=0.0)] = 0.4
    damping: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.85
    normalised: bool = True

    needs: ClassVar[frozenset[Signal]] = frozenset()

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Order by PageRank. Raises EvidenceError for a malformed pool."""
        pool = checked_pool(pool)
        count = len(pool.documents)
        if count < 2:
            return reranked("grada", pool, range(count))
        likeness, affinity = yield from self.compared(pool)
        if self.normalised:
            likeness, affinity = by_largest(likeness), by_largest(affinity)
        scores = pagerank(beyond_affinity(likeness, affinity, self.alpha), self.damping)
        placed = -np.round(scores, SAME_DECIMALS)
        order = np.argsort(placed, kind="stable").tolist()
        return reranked("grada", pool, order, scores=scores)

    def compared(self, pool: CandidatePool) -> Asking[tuple[FloatArray, FloatArray]]:
        """Return (n, n) likenesses with 0 on the diagonal, and (n,) affinities to the question."""
        passages = tuple(document.passage for document in pool.documents)
        if self.likeness == "dense":
            rows = yield from ask(Embed(passages))
            likeness, affinity = rows @ rows.T, np.array(pool.similarities)
        else:
            words = [_WORD.findall(text.casefold()) for text in (*passages, pool.query.text)]
            scores = bm25(words, words[:-1])
            likeness, affinity = scores[:-1], scores[-1]
        np.fill_diagonal(likeness, 0.0)
        return likeness, affinity


def by_largest(values: FloatArray) -> FloatArray:
    """Divide values by the largest, if it is positive."""
    most = values.max()
    return np.asarray(values / most if most > 0.0 else values)
