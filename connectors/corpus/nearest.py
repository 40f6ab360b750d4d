"""Keeps the vectors of the corpus in memory, and searches them exactly."""

from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from radarstream.connectors.state_table.corpus.vectors import Counters, StoredVector, changes
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray

CHUNK: Final = 8_192
FIRST_ROWS: Final = 1_024
Places = NDArray[np.intp]


class Near(NamedTuple):
    """A text and the cosine of the angle between it and the question."""

    text_id: str
    similarity: float


class Vectors:
    """Rows of unit length in the order of their sequence numbers.

    They take 4 bytes per dimension and row, up to twice that after growth.
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
        """The (n, d) rows; a view."""
        return self._rows[: len(self)]

    def add(self, seqs: Sequence[int], ids: Sequence[str], rows: NDArray[np.float32]) -> None:
        """Append (m, d) rows; `seqs` ascend and are above the present ones."""
        start, stop = len(self), len(self) + len(ids)
        if stop > len(self._rows):
            grown = np.empty((max(stop, 2 * len(self._rows)), self.dimensions), np.float32)
            grown[:start] = self.rows
            self._rows = grown
        self._rows[start:stop] = rows
        self._ids += ids
        self.seqs = np.append(self.seqs, np.array(seqs, np.uint64))

    def keep(self, left: Collection[int]) -> None:
        """Drop the rows whose numbers are not in `left`."""
        places = np.flatnonzero(np.isin(self.seqs, np.array(list(left), np.uint64)))
        if len(places) < len(self):
            self._rows[: len(places)] = self.rows[places]
            self._ids = [self._ids[place] for place in places]
            self.seqs = self.seqs[places]

    def nearest(self, question: FloatArray, m: int, excluded: Collection[str] = ()) -> list[Near]:
        """Return the m nearest rows, best first; of equals, the smaller id first.

        Single precision finds all rows that may be among the m, and double precision ranks them.
        The error of a product of two unit rows is at most d rounding errors.
        """
        if not len(self) or m < 1:
            return []
        # On busy cores, one thread is faster than the several of `@`.
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
            # The sums are by row, so that equal rows have equal sums at every place.
            exact = (self._rows[chunk].astype(np.float64) * question).sum(axis=1)
            found += [
                Near(self._ids[place], similarity)
                for place, similarity in zip(chunk.tolist(), exact.tolist(), strict=True)
            ]
        return sorted(found, key=lambda near: (-near.similarity, near.text_id))


class VectorSearch:
    """Searches the stored vectors, in a copy in memory that `follow` brings up to date."""

    def __init__(self) -> None:
        self._known = Counters(0, 0, None)
        self._vectors: Vectors | None = None

    def follow(self, engine: Engine) -> Counters:
        """Read the changes since the last call; return the counters up to which they are read."""
        changed = changes(engine, self._known)
        if changed.counters.model != self._known.model:
            self._vectors = None
        elif changed.left is not None and self._vectors is not None:
            self._vectors.keep(changed.left)
        self._add([vector for vector in changed.new if vector.vector])
        self._known = changed.counters
        return self._known

    def nearest(self, question: FloatArray, m: int, excluded: Collection[str]) -> list[Near]:
        """Return the m nearest texts without `excluded`, best first."""
        vectors = self._vectors
        if vectors is None:
            return []
        if question.shape != (vectors.dimensions,):
            raise ModelError(f"a question has {question.size} dimensions, not {vectors.dimensions}")
        return vectors.nearest(question, m, excluded)

    def _add(self, new: Sequence[StoredVector]) -> None:
        if not new:
            return
        if self._vectors is None:
            self._vectors = Vectors(len(new[0].vector) // 4)
        vectors = self._vectors
        if any(len(vector.vector) != 4 * vectors.dimensions for vector in new):
            raise ModelError("the corpus has vectors of several lengths")
        joined = b"".join(vector.vector for vector in new)
        rows = np.frombuffer(joined, "<f4").reshape(-1, vectors.dimensions)
        vectors.add([vector.seq for vector in new], [vector.text_id for vector in new], rows)
