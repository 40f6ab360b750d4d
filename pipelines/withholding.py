"""Which documents of a snapshot a defence sees, decided before any page is read.

First those in quarantine and of blocked sources are left out; then a reranker, if one is set,
chooses among the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents.quarantine import withheld_keys
from radarstream.connectors.state_table.sources.reader import SourceReader
from radarstream.pipelines.build import build_source_reader
from radarstream.pipelines.guard import DefensePipeline
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.reranking import with_left_out
from radarstream.pipelines.stages import Failure, Reranked
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.incidents import text_key
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.verdict import Reason


@dataclass(frozen=True, slots=True)
class Observed:
    """A decoded snapshot with the record it came in.

    `withheld` are documents in quarantine, `blocked` those of sources that a person blocked; the
    snapshot is without them from then on. Then a reranker, if there is one, chooses among the rest:
    `reranked` says what it made of the snapshot, which from then on is what it kept.
    """

    record: RawRecord
    snapshot: SearchSnapshot
    withheld: tuple[Document, ...] = ()
    blocked: tuple[Document, ...] = ()
    reranked: Reranked | None = None

    @property
    def usable(self) -> SearchSnapshot:
        """The snapshot with all documents but those that a person or an incident ruled out."""
        if self.reranked is None:
            return self.snapshot
        return replace(self.snapshot, documents=(*self.snapshot.documents, *self.reranked.dropped))


def choose(
    settings: Settings, engine: Engine, guard: DefensePipeline[Any], items: Sequence[Observed]
) -> list[Observed | Failure]:
    """Return the snapshots with the documents that the defence is to see.

    In the place of a snapshot for which the reranker's models fail stands the error.
    """
    left = leave_out(settings, engine, items)
    return [
        outcome if isinstance(outcome, Failure) else after(observed, outcome)
        for observed, outcome in zip(
            left, guard.rerank([observed.snapshot for observed in left]), strict=True
        )
    ]


def after(observed: Observed, reranked: Reranked) -> Observed:
    """What was observed, as a reranker left it."""
    if reranked.reranking is None:
        return observed
    return replace(observed, snapshot=reranked.snapshot, reranked=reranked)


def leave_out(settings: Settings, engine: Engine, items: Sequence[Observed]) -> Sequence[Observed]:
    """Return the snapshots without the documents that no model may see, as the settings say."""
    if settings.attribution.enabled:
        items = withhold(engine, items)
    if settings.sources.block:
        items = leave_out_blocked(build_source_reader(settings, engine), items)
    return items


def withhold(engine: Engine, batch: Sequence[Observed]) -> list[Observed]:
    """Take out what is in quarantine for each snapshot's query; one read for all of them.

    Ranks stay as they were. What holds is the quarantine at this moment: a snapshot that is
    gathered again after a crash, which was not folded, may find another.
    """
    keys = withheld_keys(engine, [item.snapshot.query.id for item in batch])

    def part(observed: Observed) -> Observed:
        held = keys.get(observed.snapshot.query.id, frozenset())
        documents = observed.snapshot.documents if held else ()
        return without(observed, withheld=tuple(d for d in documents if text_key(d) in held))

    return [part(item) for item in batch]


def leave_out_blocked(reader: SourceReader, batch: Sequence[Observed]) -> list[Observed]:
    """Take out the documents of sources that a person blocked; one read for the batch."""
    found = reader.blocked([item.snapshot for item in batch])
    return [without(item, blocked=blocked) for item, blocked in zip(batch, found, strict=True)]


def without(
    observed: Observed, withheld: tuple[Document, ...] = (), blocked: tuple[Document, ...] = ()
) -> Observed:
    """Take documents out of a snapshot, and note them."""
    hidden = withheld + blocked
    if not hidden:
        return observed
    seen = tuple(d for d in observed.snapshot.documents if d not in hidden)
    return replace(
        observed,
        snapshot=replace(observed.snapshot, documents=seen),
        withheld=observed.withheld + withheld,
        blocked=observed.blocked + blocked,
    )


def with_withheld(event: AnswerEvent, observed: Observed) -> AnswerEvent:
    """Name the documents that no model saw, each at its rank with the reason."""
    left_out = [(d, Reason.QUARANTINED) for d in observed.withheld]
    left_out += [(d, Reason.BLOCKED) for d in observed.blocked]
    if observed.reranked is not None:
        event = observed.reranked.told(event)
    return with_left_out(event, left_out)
