"""Texts to vectors by a model that is given; one text that it cannot read stops no other."""

from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np

from radarstream.schemas.errors import ModelError, ModelOutageError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.snapshot import Document

# Far more than an embedder's window; a page may be longer by orders of magnitude.
CHARACTERS: Final = 32_768
PROBE: Final = "Is the embedder well?"


class Embedder(Protocol):
    """A sentence embedding model."""

    @property
    def model_id(self) -> str:
        """Weights and revision, as one stable string."""
        ...

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) rows, one a text, in order. Raises ModelError."""
        ...


def passage(document: Document) -> str:
    """The beginning of a document as an embedder may read it: title, then text."""
    head = document.passage[:CHARACTERS]
    return head.encode("utf-8", "replace").decode("utf-8")


def unit_rows(embedder: Embedder, passages: Sequence[str]) -> FloatArray:
    """(m, d) float64 rows of unit length.

    Raises ModelError when the model fails or gives anything but m rows with a direction.
    """
    rows = np.asarray(embedder.embed(passages), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(passages):
        raise ModelError(f"{embedder.model_id} did not return one row a text")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0.0).all()):
        raise ModelError(f"{embedder.model_id} returned a row without a direction")
    return np.asarray(rows / lengths)


def unit_rows_or_none(embedder: Embedder, passages: Sequence[str]) -> list[FloatArray | None]:
    """One row of unit length a text; None for a text that the model, being well, cannot embed.

    Raises ModelError when the model is not well, PartialModelError never.
    """
    try:
        return list(unit_rows(embedder, passages))
    except ModelOutageError:
        raise
    except ModelError:
        if len(passages) == 1:
            unit_rows(embedder, [PROBE])
            return [None]
    half = len(passages) // 2
    return [
        *unit_rows_or_none(embedder, passages[:half]),
        *unit_rows_or_none(embedder, passages[half:]),
    ]


def as_bytes(row: FloatArray | None) -> bytes:
    """A vector as it is stored; of None, no bytes."""
    return b"" if row is None else row.astype("<f4").tobytes()
