"""The vectors of the corpus in memory: kept up to date, searched exactly or through a graph."""

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
from sqlalchemy import Engine

from radarstream.connectors.corpus.approximate import Graph
from radarstream.connectors.corpus.vectors import Float32Array, Near, Vectors
from radarstream.connectors.state_table.corpus.vectors import (
    Changes,
    Counters,
    StoredVector,
    changes,
)
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray

NOTHING: Final = Counters(0, 0, None)
SEARCHES_BEFORE_GRAPH: Final = 100  # building takes as long as hundreds of exact searches
ROWS_PER_EXACT_RESULT: Final = 40  # a graph that must find more than one row in so many is slower


class VectorSearch:
    """Follows the stored vectors.

    Exact up to `approximate_above` of them, and for the first searches: a graph over more must pay.
    """

    def __init__(self, approximate_above: int) -> None:
        self._approximate_above = approximate_above
        self._searches = 0
        self._known = NOTHING
        self._vectors: Vectors | None = None
        self._graph: Graph | None = None

    def follow(self, engine: Engine) -> Counters:
        """Take over what was written since the last time; return up to where."""
        changed = changes(engine, self._known)
        if changed.counters.model != self._known.model:
            self._vectors = self._graph = None
        elif changed.left is not None:
            self._remove(changed)
        self._add([vector for vector in changed.new if vector.vector])
        self._known = changed.counters
        return self._known

    def nearest(self, question: FloatArray, m: int, excluded: Collection[str]) -> list[Near]:
        """Return the m nearest texts, best first."""
        vectors = self._vectors
        if vectors is None:
            return []
        if question.shape != (vectors.dimensions,):
            raise ModelError(f"a question of {question.size} dimensions, not {vectors.dimensions}")
        self._searches += 1
        if len(vectors) > self._approximate_above and self._searches > SEARCHES_BEFORE_GRAPH:
            self._graph = self._graph or _graph_over(vectors)
        if self._graph is None or m * ROWS_PER_EXACT_RESULT > len(vectors):
            return vectors.nearest(question, m, excluded)
        barred = set(vectors.seqs_of(excluded))
        near = self._graph.candidates(question, m + len(barred))
        seqs = [seq for seq in near if seq not in barred]
        if len(seqs) < m:  # the graph fell apart: look at all
            return vectors.nearest(question, m, excluded)
        return vectors.ranked(question, vectors.places_of(seqs), m)

    def _remove(self, changed: Changes) -> None:
        if self._vectors is None or changed.left is None:
            return
        gone = [seq for seq in self._vectors.seqs if seq not in changed.left]
        self._vectors.remove(gone)
        if self._graph is None:
            return
        if len(self._vectors) < self._approximate_above // 2:
            self._graph = None
        elif gone:
            self._graph.remove(gone)

    def _add(self, new: Sequence[StoredVector]) -> None:
        if not new:
            return
        if self._vectors is None:
            self._vectors = Vectors(len(new[0].vector) // 4)
        vectors = self._vectors
        rows = _rows(new, vectors.dimensions)
        seqs = [vector.seq for vector in new]
        vectors.add(seqs, [vector.text_id for vector in new], rows)
        if self._graph is not None:
            self._graph.add(seqs, rows)


def _graph_over(vectors: Vectors) -> Graph:
    graph = Graph(vectors.dimensions)
    graph.add(vectors.seqs, vectors.rows)
    return graph


def _rows(vectors: Sequence[StoredVector], dimensions: int) -> Float32Array:
    if any(len(vector.vector) != 4 * dimensions for vector in vectors):
        raise ModelError("the corpus has vectors of several lengths")
    joined = b"".join(vector.vector for vector in vectors)
    return np.frombuffer(joined, "<f4").reshape(-1, dimensions).astype(np.float32)
