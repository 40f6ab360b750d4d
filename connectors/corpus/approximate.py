"""A graph over the vectors that finds near ones without looking at all: HNSW, by usearch.

Malkov and Yashunin, "Efficient and robust approximate nearest neighbor search using Hierarchical
Navigable Small World graphs" (2018). Its candidates are ranked exactly by `Vectors.ranked`.
"""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from radarstream.connectors.corpus.vectors import Float32Array
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray

CONNECTIVITY: Final = 16
WIDTH_ADD: Final = 64
WIDTH_SEARCH: Final = 256
CANDIDATES_PER_RESULT: Final = 4


class Graph:
    """Vectors by number; a search returns numbers of near ones, most of the nearest among them."""

    def __init__(self, dimensions: int) -> None:
        try:
            from usearch.index import Index
        except ImportError as error:
            raise ConfigurationError(
                "a corpus of this size needs usearch: pip install 'radarstream[corpus]', or raise "
                "corpus.approximate_above to search exactly"
            ) from error
        self._index: Any = Index(
            ndim=dimensions,
            metric="ip",
            dtype="i8",  # small and quick: what is found is ranked by the full vectors
            connectivity=CONNECTIVITY,
            expansion_add=WIDTH_ADD,
            expansion_search=WIDTH_SEARCH,
        )

    def add(self, seqs: Sequence[int], rows: Float32Array) -> None:
        """Insert rows, on all cores."""
        self._index.add(np.array(seqs, np.uint64), rows)

    def remove(self, seqs: Sequence[int]) -> None:
        """Take rows out."""
        self._index.remove(np.array(seqs, np.uint64))

    def candidates(self, question: FloatArray, m: int) -> list[int]:
        """Return the numbers of at least m rows near the question, where there are so many."""
        count = min(len(self._index), max(CANDIDATES_PER_RESULT * m, WIDTH_SEARCH))
        matches = self._index.search(question.astype(np.float32), count)
        return [int(key) for key in matches.keys]
