"""RAGuard, by perplexity: candidates whose parts are not of one hand, and near duplicates, go.

Not the other system of this name: see `radarstream.defenses.retrieval.raguard`.
"""

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.kernels.spikes import modified_scores
from radarstream.defenses.perplexity import perplexities, pieces
from radarstream.defenses.protocol import Embed, Signal
from radarstream.defenses.responses import Asking, ask
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.defenses.retrieval.protocol import Reordering
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class RaguardPerplexity:
    """Drops candidates with parts of abnormally different perplexity, then near duplicates.

    After "Secure Retrieval-Augmented Generation against Poisoning Attacks" by Cheng et al., whose
    system is called RAGuard, too; its pool is larger than what is kept, so that there is a
    replacement for what is dropped. A candidate is read in pieces; its quotient of the highest and
    the lowest perplexity of a piece is abnormal where its logarithm is an outlier above the others
    of the pool. Of near duplicates the one most similar to the question stays. What stays keeps
    its order. Limits and sizes are ours: the paper's are not public.

    Costs one reading of a piece per `words` of a candidate, and an embedding.

    Parameters
    ----------
    words
        Of a piece; a shorter candidate is one piece, whose quotient is 1.
    most_pieces
        So many pieces of a candidate are read, from its beginning.
    outlier
        The modified z-score above which a quotient is abnormal; 3.5 is customary.
    duplicate
        The cosine from which two candidates are near duplicates; above 1, none are.
    """

    words: Annotated[int, Field(ge=1)] = 20
    most_pieces: Annotated[int, Field(ge=2)] = 10
    outlier: Annotated[float, Field(ge=0.0)] = 3.5
    duplicate: Annotated[float, Field(gt=-1.0, le=2.0)] = 0.95

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.TOKEN_PROBABILITIES})

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Drop both kinds. Raises EvidenceError on malformed input or responses."""
        pool = checked_pool(pool)
        count = len(pool.documents)
        if count < 2:
            return reranked("raguard_perplexity", pool, range(count))
        passages = [document.passage for document in pool.documents]
        abnormal = yield from self.abnormality(passages)
        strange = frozenset(np.flatnonzero(abnormal > self.outlier).tolist())
        points = yield from ask(Embed(tuple(passages)))
        suspects = strange | self.duplicates(points, strange)
        order = range(count)
        return reranked("raguard_perplexity", pool, order, suspects=suspects, penalties=abnormal)

    def abnormality(self, passages: list[str]) -> Asking[FloatArray]:
        """(n,) modified z-scores of the logarithm of each quotient."""
        parts = [pieces(passage, self.words)[: self.most_pieces] for passage in passages]
        found = yield from perplexities([part for text in parts for part in text])
        ends = np.cumsum([len(text) for text in parts])
        logs = [np.log(rows) for rows in np.split(found, ends[:-1])]
        return modified_scores(np.array([np.ptp(rows) for rows in logs]))

    def duplicates(self, points: FloatArray, strange: frozenset[int]) -> frozenset[int]:
        """Places whose point is near that of a candidate before them that stays."""
        near = points @ points.T >= self.duplicate
        stay: list[int] = []
        twins: list[int] = []
        for place in sorted(set(range(len(points))) - strange):
            (twins if near[place, stay].any() else stay).append(place)
        return frozenset(twins)
