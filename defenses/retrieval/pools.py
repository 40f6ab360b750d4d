"""Helpers of rerankers: they check pools and turn an order into a `Reranking`."""

from collections.abc import Sequence

import numpy as np

from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.retrieval import CandidatePool, JudgedCandidate, Reranking
from radarstream.schemas.verdict import Reason


def checked_pool(pool: CandidatePool) -> CandidatePool:
    """Sort a pool, nearest candidates first. Raises EvidenceError if it is malformed."""
    count = len(pool.documents)
    if pool.keep < 1 or len(pool.similarities) != count:
        raise EvidenceError(
            f"a pool of {count} documents must have as many similarities and keep one or more"
        )
    if not np.isfinite(pool.similarities).all():
        raise EvidenceError("a similarity is not finite")
    if len({document.rank for document in pool.documents}) < count:
        raise EvidenceError("two candidates have the same rank")
    order = sorted(
        range(count),
        key=lambda i: (-pool.similarities[i], pool.documents[i].content_id, pool.documents[i].rank),
    )
    return CandidatePool(
        pool.query,
        tuple(pool.documents[i] for i in order),
        tuple(pool.similarities[i] for i in order),
        pool.keep,
    )


def judged_first(pool: CandidatePool, multiple: int) -> int:
    """Return how many candidates a method examines: the nearest, `multiple` times `keep`."""
    return min(len(pool.documents), multiple * pool.keep)


def reranked(
    method: str,
    pool: CandidatePool,
    order: Sequence[int],
    *,
    suspects: frozenset[int] = frozenset(),
    scores: FloatArray | None = None,
    penalties: FloatArray | None = None,
) -> Reranking:
    """Return the reranking of a checked pool of n candidates in a new order: the first `keep` stay.

    `order` has the place in the pool of every candidate. `suspects` are dropped and come last.
    `scores` and `penalties` are (n,), NaN for candidates without one. Raises EvidenceError for an
    incomplete order.
    """
    if sorted(order) != list(range(len(pool.documents))):
        raise EvidenceError("an order must name every candidate once")
    clean = [place for place in order if place not in suspects]
    kept = frozenset(clean[: pool.keep])
    last = [place for place in order if place in suspects]
    reasons = dict.fromkeys(clean[pool.keep :], Reason.OUTRANKED)
    reasons |= dict.fromkeys(last, Reason.SUSPECT)
    ranks = sorted(document.rank for document in pool.documents)
    return Reranking(
        method,
        tuple(
            JudgedCandidate(
                rank,
                pool.documents[place].rank,
                place in kept,
                pool.similarities[place],
                reasons.get(place),
                _number(scores, place),
                _number(penalties, place),
            )
            for rank, place in zip(ranks, [*clean, *last], strict=True)
        ),
    )


def _number(values: FloatArray | None, place: int) -> float | None:
    return None if values is None or not np.isfinite(values[place]) else float(values[place])
