"""Vectors in memory, and the exact search for the nearest."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from radarstream.schemas.evidence import FloatArray

Float32Array = NDArray[np.float32]
CHUNK: Final = 8_192
FIRST_ROWS: Final = 1_024


class Near(NamedTuple):
    """A text and the cosine of the angle between it and the question."""

    text_id: str
    similarity: float


class Vectors:
    """Rows of unit length by sequence number, grown and shrunk in place.

    Memory: 4 bytes per dimension and row, up to twice that after growth.
    """

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._rows: Float32Array = np.empty((FIRST_ROWS, dimensions), np.float32)
        self._ids: list[str] = []
        self._seqs: list[int] = []
        self._places: dict[int, int] = {}
        self._by_id: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def rows(self) -> Float32Array:
        """(n, d) what is held, in no particular order; a view."""
        return self._rows[: len(self._ids)]

    @property
    def seqs(self) -> list[int]:
        """The sequence number of each row."""
        return self._seqs

    def add(self, seqs: Sequence[int], ids: Sequence[str], rows: Float32Array) -> None:
        """Append rows, (m, d)."""
        start, stop = len(self), len(self) + len(ids)
        if stop > len(self._rows):
            grown = np.empty((max(stop, 2 * len(self._rows)), self.dimensions), np.float32)
            grown[:start] = self.rows
            self._rows = grown
        self._rows[start:stop] = rows
        self._seqs += seqs
        self._ids += ids
        self._places.update(zip(seqs, range(start, stop), strict=True))
        self._by_id.update(zip(ids, seqs, strict=True))

    def remove(self, seqs: Iterable[int]) -> None:
        """Drop rows; the last ones take their places."""
        for seq in seqs:
            place = self._places.pop(seq)
            if self._by_id.get(self._ids[place]) == seq:
                del self._by_id[self._ids[place]]
            last_id, last_seq = self._ids.pop(), self._seqs.pop()
            if last_seq != seq:
                self._rows[place] = self._rows[len(self._ids)]
                self._ids[place], self._seqs[place] = last_id, last_seq
                self._places[last_seq] = place

    def places_of(self, seqs: Iterable[int]) -> NDArray[np.intp]:
        """Where the rows with these numbers are."""
        return np.array([self._places[seq] for seq in seqs], np.intp)

    def seqs_of(self, ids: Iterable[str]) -> list[int]:
        """The numbers of those of the texts that are held."""
        return [self._by_id[id_] for id_ in ids if id_ in self._by_id]

    def nearest(self, question: FloatArray, m: int, excluded: Iterable[str] = ()) -> list[Near]:
        """Return the m nearest rows, best first; of equals, the smaller id first.

        Exact: single precision finds all rows that could be among the m, double precision ranks
        them. A product of two unit rows is off by at most d rounding errors.
        """
        if not len(self) or m < 1:
            return []
        # Not `@`: beside busy cores, one thread is done before the slower of several is.
        rough = np.einsum("ij,j->i", self.rows, question.astype(np.float32))
        rough[self.places_of(self.seqs_of(excluded))] = -np.inf
        if m < len(rough):
            error = 2 * (self.dimensions + 2) * np.finfo(np.float32).eps
            mth = np.partition(rough, len(rough) - m)[len(rough) - m]
            candidates = np.flatnonzero((rough >= mth - error) & (rough > -np.inf))
        else:
            candidates = np.flatnonzero(rough > -np.inf)
        return self.ranked(question, candidates, m)

    def ranked(self, question: FloatArray, places: NDArray[np.intp], m: int) -> list[Near]:
        """Return the m nearest of the rows at these places, by products in double precision."""
        exact = np.empty(len(places))
        for start in range(0, len(places), CHUNK):
            chunk = self._rows[places[start : start + CHUNK]].astype(np.float64)
            # Summed row by row: equal rows get equal sums wherever they are.
            exact[start : start + CHUNK] = (chunk * question).sum(axis=1)
        found = [
            Near(self._ids[place], similarity)
            for place, similarity in zip(places.tolist(), exact.tolist(), strict=True)
        ]
        found.sort(key=lambda near: (-near.similarity, near.text_id))
        return found[:m]
