"""A reranker for tests of the pipeline, and snapshots for it to choose from."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest
from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.protocol import Reordering, ask
from radarstream.defenses.registry import RERANKERS
from radarstream.defenses.retrieval.pools import checked_pool, reranked
from radarstream.lab.insights import GRADIENTS, Insights, ProbeQuery
from radarstream.schemas.retrieval import CandidatePool
from radarstream.schemas.snapshot import STRICT, SearchSnapshot
from tests.builders import make_snapshot

PLANTED = "planted page"
WARY = {"name": "wary", "keep": 10}


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Wary:
    """Takes off the similarity how gradients vary, and suspects pages that say `PLANTED`."""

    needs: ClassVar[frozenset[str]] = frozenset({GRADIENTS})
    weight: float = 0.1

    def rerank(self, pool: CandidatePool) -> Reordering:
        pool = checked_pool(pool)
        passages = [document.passage for document in pool.documents]
        queries = tuple(ProbeQuery(pool.query.text, passage, runs=2) for passage in passages)
        grams = yield from ask(Insights(queries))
        penalties = self.weight * np.array([gram[0, 0] - gram[0, 1] for gram in grams])
        scores = np.array(pool.similarities) - penalties
        return reranked(
            "wary",
            pool,
            np.argsort(-scores, kind="stable").tolist(),
            suspects=frozenset(i for i, text in enumerate(passages) if PLANTED in text),
            scores=scores,
            penalties=penalties,
        )


@pytest.fixture
def wary(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reranker is one of the registry, for settings to name it."""
    monkeypatch.setitem(RERANKERS, "wary", Wary)


def crowd(
    count: int, *, claims: Sequence[str] = ("Rome", "Rome", "Oslo"), planted: Sequence[int] = ()
) -> SearchSnapshot:
    """`count` pages of sites of their own; the `planted` ranks are suspect."""
    texts = [
        f"{PLANTED if rank in planted else 'Page'} {rank}: {claims[rank % len(claims)]}."
        for rank in range(1, count + 1)
    ]
    return make_snapshot(texts)
