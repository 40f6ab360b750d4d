"""ProGRank+, ours: the unsteadiness of a gradient that similarity does not explain."""

from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.kernels.gradient_stability import EPS, stability, unexplained
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.defenses.retrieval.probing import Probing
from radarstream.defenses.retrieval.protocol import Reordering
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class ProgRankPlus(Probing):
    """Drops candidates whose gradient is less steady than their similarity explains.

    Ours, on the probes of "ProGRank: Probe-Gradient Reranking to Defend Dense-Retriever RAG from
    Corpus Poisoning" (equations 3 and 6). The nearer a passage is to the question, the shorter is
    the gradient of a cosine, and the larger are deviations in proportion: ProGRank's penalty
    therefore turns the order of relevance round. Here the logarithm of the median deviation is
    compared with a straight line over the similarities of the pool, and what lies above the line
    counts, in robust standard deviations. Who is above `threshold` is dropped; the others keep
    their order by similarity. Pools of fewer than `least` candidates lose only those whose
    gradient is not finite. Costs `runs` gradients a candidate.

    The parameters of `Probing`, and these:

    Parameters
    ----------
    threshold
        Robust standard deviations above the line from which a candidate is dropped.
    least
        How many candidates a line needs.
    """

    threshold: Annotated[float, Field(ge=0.0)] = 0.9
    least: Annotated[int, Field(ge=4)] = 10

    def rerank(self, pool: CandidatePool) -> Reordering:
        """Drop what is above the line. Raises EvidenceError on malformed input or responses."""
        pool = checked_pool(pool)
        count = len(pool.documents)
        if count < 2:
            return reranked("prog_rank_plus", pool, range(count))
        grams = yield from self.probe(pool.query.text, [d.passage for d in pool.documents])
        deviations = np.median(stability(grams, EPS).deviations, axis=1)
        finite = np.isfinite(deviations)
        above = np.full(count, np.nan)
        if finite.sum() >= self.least:
            similarities = np.array(pool.similarities)
            above[finite] = unexplained(deviations[finite], similarities[finite])
        suspects = np.flatnonzero(~finite | (above > self.threshold))
        return reranked(
            "prog_rank_plus",
            pool,
            range(count),
            suspects=frozenset(suspects.tolist()),
            penalties=above,
        )
