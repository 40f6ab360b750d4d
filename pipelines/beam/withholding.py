"""Leaves documents in quarantine, and of blocked sources, out of snapshots before any model."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents.quarantine import withheld_keys
from radarstream.connectors.state_table.sources.reader import SourceReader
from radarstream.pipelines.beam.elements import Observed
from radarstream.pipelines.build import build_source_reader
from radarstream.pipelines.settings import Settings
from radarstream.schemas.events import AnswerEvent, Source
from radarstream.schemas.incidents import text_key
from radarstream.schemas.snapshot import Document
from radarstream.schemas.verdict import DocumentVerdict, Reason


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
    return Observed(
        observed.record,
        replace(observed.snapshot, documents=seen),
        observed.withheld + withheld,
        observed.blocked + blocked,
    )


def with_withheld(event: AnswerEvent, observed: Observed) -> AnswerEvent:
    """Name the documents that no model saw, each at its rank with the reason."""
    left_out = [(d, Reason.QUARANTINED) for d in observed.withheld]
    left_out += [(d, Reason.BLOCKED) for d in observed.blocked]
    if not left_out:
        return event
    told = [DocumentVerdict(d.rank, kept=False, reason=reason) for d, reason in left_out]
    cited = [Source(d.rank, d.title, d.url) for d, _ in left_out]
    documents = sorted((*event.verdict.documents, *told), key=lambda judged: judged.rank)
    sources = sorted((*event.sources, *cited), key=lambda source: source.rank)
    verdict = replace(event.verdict, documents=tuple(documents))
    return replace(event, verdict=verdict, sources=tuple(sources))
