"""The ledger of sources as a guard asks it: whose documents to distrust, whose to leave out."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from connectors.state_table.sources import blocked_among, standings
from schemas.sites import Granularity, key_of
from schemas.snapshot import Document, SearchSnapshot
from schemas.sources import NEUTRAL

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class SourceReader:
    """Reads a whole batch in one query; holds no connection between two calls.

    What holds is the ledger at the moment of the call. A snapshot that is judged again after a
    crash, which was not folded, may meet another; it is folded, and answered, once.
    """

    engine: Engine
    granularity: Granularity = "site"
    half_life_days: float = 90.0

    def honesty(self, snapshots: Sequence[SearchSnapshot]) -> list[FloatArray]:
        """Per snapshot (documents,), in (0, 1), as of its time; NEUTRAL for unknown sources."""
        keys = [[self._key(document) for document in s.documents] for s in snapshots]
        with self.engine.connect() as connection:
            known = standings(connection, [key for of_one in keys for key in of_one])
        return [
            np.array(
                [
                    known[key].honesty(snapshot.observed_at_ms, self.half_life_days)
                    if key in known
                    else NEUTRAL
                    for key in of_one
                ]
            )
            for snapshot, of_one in zip(snapshots, keys, strict=True)
        ]

    def blocked(self, snapshots: Sequence[SearchSnapshot]) -> list[tuple[Document, ...]]:
        """Per snapshot the documents whose source a person has blocked."""
        keys = [[self._key(document) for document in s.documents] for s in snapshots]
        with self.engine.connect() as connection:
            found = blocked_among(connection, [key for of_one in keys for key in of_one])
        return [
            tuple(d for d, key in zip(s.documents, of_one, strict=True) if key in found)
            for s, of_one in zip(snapshots, keys, strict=True)
        ]

    def _key(self, document: Document) -> str:
        return key_of(document, self.granularity)
