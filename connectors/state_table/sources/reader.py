"""The ledger of sources as a guard asks it: whose documents to distrust, whose to leave out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from radarstream.connectors.state_table.sources.ledger import standings, words_on
from radarstream.schemas.sites import Granularity, key_of, names_of
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.sources import NEUTRAL, SourceVerdict

FloatArray = NDArray[np.float64]
Names = tuple[str, ...]  # of one document's source, see `names_of`


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
        names = self._names(snapshots)
        with self.engine.connect() as connection:
            known = standings(connection, flat(names))
        words = {name: s.verdict for name, s in known.items() if s.verdict is not None}

        def of(document: Document, own: Names, as_of_ms: int) -> float:
            source = known.get(key_of(document, self.granularity))
            if source is None or nearest(words, own) is SourceVerdict.PARDONED:
                return NEUTRAL
            return source.honesty(as_of_ms, self.half_life_days)

        return [
            np.array(
                [of(d, own, s.observed_at_ms) for d, own in zip(s.documents, of_one, strict=True)]
            )
            for s, of_one in zip(snapshots, names, strict=True)
        ]

    def blocked(self, snapshots: Sequence[SearchSnapshot]) -> list[tuple[Document, ...]]:
        """Per snapshot the documents whose source a person has blocked."""
        names = self._names(snapshots)
        with self.engine.connect() as connection:
            words = words_on(connection, flat(names))
        return [
            tuple(
                document
                for document, own in zip(s.documents, of_one, strict=True)
                if nearest(words, own) is SourceVerdict.BLOCKED
            )
            for s, of_one in zip(snapshots, names, strict=True)
        ]

    def _names(self, snapshots: Sequence[SearchSnapshot]) -> list[list[Names]]:
        return [[names_of(d, self.granularity) for d in s.documents] for s in snapshots]


def flat(names: Sequence[Sequence[Names]]) -> list[str]:
    """All names of all documents of all snapshots."""
    return [name for of_one in names for own in of_one for name in own]


def nearest(words: Mapping[str, SourceVerdict], names: Names) -> SourceVerdict | None:
    """A person's decision about the nearest of a document's names."""
    return next((words[name] for name in names if name in words), None)
