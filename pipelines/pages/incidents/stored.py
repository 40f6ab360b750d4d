"""What the state database holds for the pages on incidents and on sources."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Final

from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents.complaints import complaint_of, find_complaints
from radarstream.connectors.state_table.incidents.quarantine import list_quarantine
from radarstream.connectors.state_table.incidents.store import list_attributed
from radarstream.connectors.state_table.sources import listing
from radarstream.pipelines.pages.incidents import incidents_view
from radarstream.pipelines.pages.incidents.event_view import SourceWords
from radarstream.pipelines.pages.incidents.sources_view import Known, SourcesView, sources_view
from radarstream.pipelines.pages.incidents.words import SOURCES
from radarstream.pipelines.settings import Settings
from radarstream.schemas.sites import key_of, names_of
from radarstream.schemas.snapshot import Document

PAST: Final = 200  # rows of a source's past, newest first
PER_INCIDENT: Final = 20  # complaints and texts looked up for each incident that is shown


def incidents(engine: Engine, query: str | None, limit: int) -> list[incidents_view.Incident]:
    """Return the newest incidents with all that is stored of each, attributed ones first."""
    known = {one.id: one for one in list_attributed(engine, query, limit)}
    rows = find_complaints(engine, limit=limit * PER_INCIDENT, query_id=query)
    complaints = [complaint_of(row) for row in rows]
    held: defaultdict[str, list[incidents_view.HeldText]] = defaultdict(list)
    texts = list_quarantine(engine, query, active_only=False, limit=limit * PER_INCIDENT)
    names = ("url", "title", "active", "everywhere", "released")
    for row in texts:
        text = incidents_view.HeldText(**{name: row[name] for name in names})
        held[row["incident"]].append(text)
    events = [one.event for one in known.values() if one.event]
    return incidents_view.incidents_of(events, known, complaints, held)


def standings(view: SourcesView, settings: Settings) -> Callable[[str], SourceWords | None]:
    """Make a function that says what the ledger knows about the source of an address."""
    known = {source.standing.domain: source for source in view.sources}
    granularity = settings.sources.granularity

    def standing_of(url: str) -> SourceWords | None:
        page = Document(1, "", url=url)
        above = (known[name] for name in names_of(page, granularity) if name in known)
        judged = next((source for source in above if source.standing.verdict), None)
        source = judged or known.get(key_of(page, granularity))
        if source is None:
            return None
        verdict = source.standing.verdict or ""
        words = verdict or f"reliability {source.counts.honesty:.2f}"
        tone = {"blocked": "bad", "pardoned": "good"}.get(verdict, "")
        return SourceWords(f"{SOURCES}#{source.anchor}", words, tone)

    return standing_of


def ledger(
    engine: Engine, settings: Settings, limit: int, anchors: Mapping[tuple[str, int], str]
) -> SourcesView:
    """The ledger as of its latest event."""
    with engine.connect() as connection:
        known = [
            Known(summary, tuple(listing.history(connection, summary.standing.domain, PAST)))
            for summary in listing.summaries(connection, limit)
        ]
        return sources_view(
            known,
            total=listing.count_sources(connection),
            as_of_ms=listing.latest_ms(connection),
            half_life_days=settings.sources.half_life_days,
            anchors=anchors,
        )
