"""Which sources the texts that taught a wrong answer come from, for the ledger of sources."""

from collections.abc import Iterable

from sqlalchemy import Connection

from radarstream.connectors.state_table.incidents import quarantine
from radarstream.schemas.incidents import AttributedText, TaughtEvent
from radarstream.schemas.sites import Granularity, key_of
from radarstream.schemas.snapshot import Document
from radarstream.schemas.sources import EventKind, SourceEvent
from radarstream.schemas.times import milliseconds


def source_of(text: AttributedText, granularity: Granularity) -> str:
    """Return the source of a text; "" without an address."""
    return key_of(Document(text.rank, "", url=text.url), granularity)


def sources_of(texts: Iterable[AttributedText], granularity: Granularity) -> frozenset[str]:
    """Return the sources of texts."""
    return frozenset(source_of(text, granularity) for text in texts)


def evidence(
    connection: Connection, event: TaughtEvent, kind: EventKind, granularity: Granularity
) -> list[SourceEvent]:
    """Make an event of the ledger for each flagged text that is not released."""
    at_ms = milliseconds(event.observed_at)
    return [
        SourceEvent(
            event=event.incident,
            domain=source_of(text, granularity),
            kind=kind,
            at_ms=at_ms,
            query_id=event.query_id,
            step=event.step,
            text_id=text.id,
            claim=event.answer,
        )
        for text in not_released(connection, event)
    ]


def not_released(connection: Connection, event: TaughtEvent) -> list[AttributedText]:
    """Return the flagged texts that no person let back in.

    Quarantine has one row for the same words at several addresses: a text without a row of its own
    goes with those that begin like it.
    """
    released: dict[str, bool] = {}
    alike: dict[tuple[str, str], bool] = {}
    for row in quarantine.texts_of(connection, event.incident):
        begins = (row["title"].casefold(), row["excerpt"].casefold())
        released[row["content_id"]] = row["released"]
        alike[begins] = row["released"] and alike.get(begins, True)
    return [
        text
        for text in event.flagged
        if not released.get(
            text.id, alike.get((text.title.casefold(), text.excerpt.casefold()), False)
        )
    ]
