"""The ledger of sources as a guard asks it: whose documents to distrust, whose to leave out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Engine

from radarstream.connectors.state_table.sources.ledger import standings
from radarstream.schemas.sites import Granularity, key_of, names_of
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.sources import NEUTRAL, SourceVerdict, Standing


@dataclass(frozen=True)
class SourceReader:
    """Reads a whole batch in one query; holds no connection between two calls.

    What holds is the ledger at the moment of the call. A snapshot that is judged again after a
    crash, which was not folded, may meet another; it is folded, and answered, once.
    """

    engine: Engine
    granularity: Granularity = "site"
    half_life_days: float = 90.0

    def honesty(self, snapshots: Sequence[SearchSnapshot]) -> list[NDArray[np.float64]]:
        """Per snapshot (documents,), in (0, 1), as of its time; NEUTRAL for unknown sources."""
        known = self._known(snapshots)

        def of(document: Document, as_of_ms: int) -> float:
            source = known.get(key_of(document, self.granularity))
            if source is None or self._verdict(known, document) is SourceVerdict.PARDONED:
                return NEUTRAL
            return source.honesty(as_of_ms, self.half_life_days)

        return [np.array([of(d, s.observed_at_ms) for d in s.documents]) for s in snapshots]

    def blocked(self, snapshots: Sequence[SearchSnapshot]) -> list[tuple[Document, ...]]:
        """Per snapshot the documents whose source a person has blocked."""
        known = self._known(snapshots)
        if not known:
            return [()] * len(snapshots)
        blocked = SourceVerdict.BLOCKED
        return [
            tuple(d for d in s.documents if self._verdict(known, d) is blocked) for s in snapshots
        ]

    def _known(self, snapshots: Sequence[SearchSnapshot]) -> dict[str, Standing]:
        documents = {d.url: d for snapshot in snapshots for d in snapshot.documents}
        names = {name for d in documents.values() for name in names_of(d, self.granularity)}
        with self.engine.connect() as connection:
            return standings(connection, names)

    def _verdict(self, known: Mapping[str, Standing], document: Document) -> SourceVerdict | None:
        """A person's decision about the nearest of the names of a document's source."""
        names = names_of(document, self.granularity)
        verdicts = (known[name].verdict for name in names if name in known)
        return next(filter(None, verdicts), None)
