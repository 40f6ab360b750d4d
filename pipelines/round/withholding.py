"""The documents of a snapshot that no model may see: in quarantine, or of blocked sources."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents.quarantine import withheld_keys
from radarstream.connectors.state_table.sources import blocked
from radarstream.pipelines.round.values import Observed
from radarstream.pipelines.signals.reranking import LeftOut
from radarstream.schemas.incidents import text_key
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.verdict import Reason

# The documents of each snapshot that no model may see, with the reasons.
Rule = Callable[[Sequence[SearchSnapshot]], Sequence[tuple[LeftOut, ...]]]


def withhold(rules: Sequence[Rule], snapshots: Sequence[SearchSnapshot]) -> list[Observed]:
    """Take out what the rules say, one after the other. Ranks stay as they were."""
    return reduce(_without, rules, [Observed(snapshot) for snapshot in snapshots])


def _without(items: Sequence[Observed], rule: Rule) -> list[Observed]:
    found = rule([item.snapshot for item in items])
    return [
        leave_out(item, left_out) if left_out else item
        for item, left_out in zip(items, found, strict=True)
    ]


def leave_out(item: Observed, left_out: Sequence[LeftOut]) -> Observed:
    """Take documents out of a snapshot, and note them."""
    gone = [document for document, _ in left_out]
    kept = tuple(document for document in item.snapshot.documents if document not in gone)
    return Observed(replace(item.snapshot, documents=kept), (*item.left_out, *left_out))


@dataclass(frozen=True)
class Quarantined:
    """What is in quarantine for queries at this moment, read once for all of them."""

    engine: Engine

    def __call__(self, snapshots: Sequence[SearchSnapshot]) -> list[tuple[LeftOut, ...]]:
        """The documents in quarantine."""
        keys = withheld_keys(self.engine, [snapshot.query.id for snapshot in snapshots])

        def held(snapshot: SearchSnapshot) -> tuple[Document, ...]:
            if not (of_query := keys.get(snapshot.query.id)):
                return ()
            return tuple(d for d in snapshot.documents if text_key(d) in of_query)

        return [tuple((d, Reason.QUARANTINED) for d in held(s)) for s in snapshots]


@dataclass(frozen=True)
class Blocked:
    """The documents of sources that a person blocked; one read for all snapshots."""

    engine: Engine

    def __call__(self, snapshots: Sequence[SearchSnapshot]) -> list[tuple[LeftOut, ...]]:
        """The documents of blocked sources."""
        found = blocked(self.engine, snapshots)
        return [tuple((d, Reason.BLOCKED) for d in documents) for documents in found]
