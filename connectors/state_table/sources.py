"""Persons' verdicts about sites, and the wrong answers that sites taught.

A verdict about a name holds for all names below it; the longest name of a page's host decides.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from sqlalchemy import Connection, Engine, Row, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import (
    INCIDENTS,
    QUARANTINE,
    SOURCE_VERDICTS,
)
from radarstream.connectors.state_table.incidents.store import STORED_EVENT, readable
from radarstream.schemas.codec import clean
from radarstream.schemas.incidents import REMOVING
from radarstream.schemas.sites import names_of, source_of
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.times import milliseconds

NOTE_CHARACTERS: Final = 300
_S, _I, _Q = SOURCE_VERDICTS.c, INCIDENTS.c, QUARANTINE.c


class SourceVerdict(StrEnum):
    """A person's verdict about a site."""

    PARDONED = "pardoned"  # its documents stay, even if a name above it is blocked
    BLOCKED = "blocked"  # its documents are left out


@dataclass(frozen=True, slots=True)
class Blame:
    """A page whose text is in quarantine because it taught a wrong answer."""

    incident: str
    query_id: str
    step: int
    observed_ms: int
    answer: str
    url: str


@dataclass(frozen=True, slots=True)
class Source:
    """A site or host with a person's verdict, and the wrong answers it taught, newest first."""

    domain: str
    verdict: SourceVerdict | None = None
    note: str | None = None
    blame: tuple[Blame, ...] = ()


def judge(
    connection: Connection, domain: str, verdict: SourceVerdict | None, note: str | None, at_ms: int
) -> None:
    """Write a person's verdict about a name; None revokes it."""
    reason = note and clean(note)[:NOTE_CHARACTERS]
    row = {"domain": domain, "verdict": verdict, "note": reason, "decided_ms": at_ms}
    db.upsert(connection, SOURCE_VERDICTS, row)


def hold(connection: Connection, domain: str) -> Source:
    """Lock the row of a name, inserting it if it is missing; return its verdict."""
    # The insert comes first, because on SQLite only a write takes the lock.
    db.insert_new(connection, SOURCE_VERDICTS, {"domain": domain, "decided_ms": 0})
    held = select(SOURCE_VERDICTS).where(_S.domain == domain).with_for_update()
    return _judged(connection.execute(held).one())


def blocked(engine: Engine, snapshots: Sequence[SearchSnapshot]) -> list[tuple[Document, ...]]:
    """Return the documents of blocked sources per snapshot, by one query."""
    names = {url: names_of(url) for s in snapshots for url in {d.url for d in s.documents}}
    known = _verdicts(engine, {name for found in names.values() for name in found})

    def is_blocked(document: Document) -> bool:
        verdicts = (known[name] for name in names[document.url] if name in known)
        return next(verdicts, None) is SourceVerdict.BLOCKED

    return [tuple(d for d in s.documents if is_blocked(d)) for s in snapshots]


def list_sources(connection: Connection) -> list[Source]:
    """Return sources: blocked ones first, then by the number of wrong answers, most first."""
    rows = map(_judged, connection.execute(select(SOURCE_VERDICTS)))
    sources = {source.domain: source for source in rows if source.verdict}
    for site, blame in groupby(sorted(_blame(connection), key=_site_of), key=_site_of):
        known = sources.get(site, Source(site))
        sources[site] = replace(known, blame=_newest_first(blame))
    return sorted(sources.values(), key=_place)


def find_source(connection: Connection, domain: str) -> Source:
    """Return a source, with the wrong answers of all names below it."""
    row = connection.execute(select(SOURCE_VERDICTS).where(_S.domain == domain)).one_or_none()
    known = Source(domain) if row is None else _judged(row)
    mine = (one for one in _blame(connection) if domain in names_of(one.url))
    return replace(known, blame=_newest_first(mine))


def _blame(connection: Connection) -> Iterator[Blame]:
    """Yield the flagged texts of incidents that remove texts, except released ones."""
    let_in = select(_Q.incident, _Q.text_key).where(_Q.released)
    released = {tuple(row) for row in connection.execute(let_in)}
    removing = select(STORED_EVENT).where(_I.status.in_(REMOVING)).order_by(_I.incident)
    for (stored,) in connection.execute(removing):
        if (event := readable(stored)) is None:
            continue
        for text in event.flagged:
            if text.url and (event.incident, text.text_key) not in released:
                at_ms = milliseconds(event.observed_at)
                yield Blame(
                    event.incident, event.query_id, event.step, at_ms, event.answer, text.url
                )


def _newest_first(blame: Iterable[Blame]) -> tuple[Blame, ...]:
    """One for each incident, whatever the number of its texts."""
    each = {one.incident: one for one in blame}
    return tuple(sorted(each.values(), key=lambda one: (-one.observed_ms, one.incident)))


def _site_of(blame: Blame) -> str:
    return source_of(blame.url)


def _place(source: Source) -> tuple[bool, int, str]:
    return source.verdict is not SourceVerdict.BLOCKED, -len(source.blame), source.domain


def _judged(row: Row[Any]) -> Source:
    known = row.verdict in tuple(SourceVerdict)  # a damaged one is none
    return Source(row.domain, SourceVerdict(row.verdict) if known else None, row.note)


def _verdicts(engine: Engine, names: Iterable[str]) -> dict[str, SourceVerdict]:
    found: dict[str, SourceVerdict] = {}
    for some in db.chunks(sorted(names)):
        statement = select(_S.domain, _S.verdict).where(_S.domain.in_(some))
        rows = db.fetch(engine, statement.where(_S.verdict.in_(tuple(SourceVerdict))))
        found |= {domain: SourceVerdict(verdict) for domain, verdict in rows}
    return found
