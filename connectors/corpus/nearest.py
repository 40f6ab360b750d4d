"""The vectors of the corpus in memory: kept up to date, searched exactly or through a graph.

The graph is HNSW, by usearch: Malkov and Yashunin, "Efficient and robust approximate nearest
neighbor search using Hierarchical Navigable Small World graphs" (2018).
"""

from collections.abc import Collection, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from radarstream.connectors.state_table.corpus.vectors import Counters, StoredVector, changes
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.evidence import FloatArray

SEARCHES_BEFORE_GRAPH: Final = 100  # building takes as long as hundreds of exact searches
ROWS_PER_EXACT_RESULT: Final = 40  # a graph that must find more than one row in so many is slower
CONNECTIVITY: Final = 16
WIDTH_ADD: Final = 64
WIDTH_SEARCH: Final = 256
CANDIDATES_PER_RESULT: Final = 4
CHUNK: Final = 8_192
FIRST_ROWS: Final = 1_024
Places = NDArray[np.intp]


class Near(NamedTuple):
    """A text and the cosine of the angle between it and the question."""

    text_id: str
    similarity: float


class Vectors:
    """Rows of unit length in the order of their sequence numbers, grown and shrunk in place.

    Memory: 4 bytes per dimension and row, up to twice that after growth.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.seqs = np.empty(0, np.uint64)
        self._ids: list[str] = []
        self._rows = np.empty((FIRST_ROWS, dimensions), np.float32)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def rows(self) -> NDArray[np.float32]:
        """(n, d) what is held; a view."""
        return self._rows[: len(self)]

    def add(self, seqs: Sequence[int], ids: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Append rows, (m, d), in ascending order of numbers above those that are held."""
        start, stop = len(self), len(self) + len(ids)
        if stop > len(self._rows):
            grown = np.empty((max(stop, 2 * len(self._rows)), self.dimensions), np.float32)
            grown[:start] = self.rows
            self._rows = grown
        self._rows[start:stop] = rows
        self._ids += ids
        self.seqs = np.append(self.seqs, np.array(seqs, np.uint64))

    def keep(self, left: Collection[int]) -> NDArray[np.uint64]:
        """Drop the rows whose numbers are not among these; return the numbers that went."""
        kept = np.isin(self.seqs, np.array(list(left), np.uint64))
        places, gone = np.flatnonzero(kept), self.seqs[~kept]
        if len(gone):
            self._rows[: len(places)] = self.rows[places]
            self._ids = [self._ids[place] for place in places]
            self.seqs = self.seqs[kept]
        return gone

    def nearest(self, question: FloatArray, m: int, excluded: Collection[str] = ()) -> list[Near]:
        """Return the m nearest rows, best first; of equals, the smaller id first.

        Exact: single precision finds all rows that could be among the m, double precision ranks
        them. A product of two unit rows is off by at most d rounding errors.
        """
        if not len(self) or m < 1:
            return []
        # Not `@`: beside busy cores, one thread is done before the slower of several is.
        rough = np.einsum("ij,j->i", self.rows, question.astype(np.float32))
        barred = frozenset(excluded)
        wanted, least = m + len(barred), -np.inf
        if wanted < len(rough):
            error = 2 * (self.dimensions + 2) * np.finfo(np.float32).eps
            least = np.partition(rough, len(rough) - wanted)[len(rough) - wanted] - error
        near = self.ranked(question, np.flatnonzero(rough >= least))
        return [one for one in near if one.text_id not in barred][:m]

    def ranked(self, question: FloatArray, places: Places) -> list[Near]:
        """Return the rows at these places, best first, by products in double precision."""
        found = []
        for start in range(0, len(places), CHUNK):
            chunk = places[start : start + CHUNK]
            # Summed row by row: equal rows get equal sums wherever they are.
            exact = (self._rows[chunk].astype(np.float64) * question).sum(axis=1)
            found += [
                Near(self._ids[place], similarity)
                for place, similarity in zip(chunk.tolist(), exact.tolist(), strict=True)
            ]
        return sorted(found, key=lambda near: (-near.similarity, near.text_id))


class VectorSearch:
    """Follows the stored vectors.

    Exact up to `approximate_above` of them, and for the first searches: a graph over more must pay.
    """

    def __init__(self, approximate_above: int) -> None:
        self._approximate_above = approximate_above
        self._searches = 0
        self._known = Counters(0, 0, None)
        self._vectors: Vectors | None = None
        self._graph: Any = None  # an Index of usearch; its keys are sequence numbers

    def follow(self, engine: Engine) -> Counters:
        """Take over what was written since the last time; return up to where."""
        changed = changes(engine, self._known)
        if changed.counters.model != self._known.model:
            self._vectors = self._graph = None
        elif changed.left is not None and self._vectors is not None:
            gone = self._vectors.keep(changed.left)
            if len(self._vectors) < self._approximate_above // 2:
                self._graph = None
            elif self._graph is not None and len(gone):
                self._graph.remove(gone)
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
        barred = frozenset(excluded)
        count = max(CANDIDATES_PER_RESULT * (m + len(barred)), WIDTH_SEARCH)
        matches = self._graph.search(question.astype(np.float32), min(len(self._graph), count))
        near = vectors.ranked(question, np.searchsorted(vectors.seqs, matches.keys))
        wanted = [one for one in near if one.text_id not in barred][:m]
        # Fewer than m: the graph fell apart, look at all.
        return wanted if len(wanted) == m else vectors.nearest(question, m, excluded)

    def _add(self, new: Sequence[StoredVector]) -> None:
        if not new:
            return
        if self._vectors is None:
            self._vectors = Vectors(len(new[0].vector) // 4)
        vectors = self._vectors
        if any(len(vector.vector) != 4 * vectors.dimensions for vector in new):
            raise ModelError("the corpus has vectors of several lengths")
        joined = b"".join(vector.vector for vector in new)
        rows = np.frombuffer(joined, "<f4").reshape(-1, vectors.dimensions).astype(np.float32)
        seqs = [vector.seq for vector in new]
        vectors.add(seqs, [vector.text_id for vector in new], rows)
        if self._graph is not None:
            self._graph.add(np.array(seqs, np.uint64), rows)


def _graph_over(vectors: Vectors) -> Any:
    try:
        from usearch.index import Index
    except ImportError as error:
        raise ConfigurationError(
            "a corpus of this size needs usearch: pip install 'radarstream[corpus]', or raise "
            "corpus.approximate_above to search exactly"
        ) from error
    graph = Index(
        ndim=vectors.dimensions,
        metric="ip",
        dtype="i8",  # small and quick: what is found is ranked by the full vectors
        connectivity=CONNECTIVITY,
        expansion_add=WIDTH_ADD,
        expansion_search=WIDTH_SEARCH,
    )
    graph.add(vectors.seqs, vectors.rows)
    return graph
