"""`radarstream incidents report`: pages on incidents and on sources, from the state database."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

from sqlalchemy import Engine
from typer import Option

from radarstream.connectors.state_table.database.tables import COMPLAINTS, INCIDENTS
from radarstream.connectors.state_table.incidents.complaints import complaint_of, find_complaints
from radarstream.connectors.state_table.incidents.quarantine import list_quarantine
from radarstream.connectors.state_table.incidents.store import list_attributed
from radarstream.connectors.state_table.sources import listing
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import Config
from radarstream.pipelines.cli.queries import named_query
from radarstream.pipelines.cli.terminal import make_directory, print_path
from radarstream.pipelines.pages.incidents import incidents_view
from radarstream.pipelines.pages.incidents.event_view import SourceWords
from radarstream.pipelines.pages.incidents.incidents_view import (
    write_stream_pages,
)
from radarstream.pipelines.pages.incidents.sources_view import (
    Known,
    SourcesView,
    sources_view,
)
from radarstream.pipelines.pages.incidents.words import SOURCES
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.sites import key_of, names_of
from radarstream.schemas.snapshot import Document

PAST = 200  # rows of a source's past, newest first
PER_INCIDENT = 20  # complaints and texts looked up for each incident that is shown


def report_incidents(
    config: Config = None,
    database: Annotated[
        str | None, Option(help="URL of the database; default: from the settings.")
    ] = None,
    query: Annotated[
        str | None, Option(help="Only incidents of this query (id or question).")
    ] = None,
    limit: Annotated[
        int, Option(min=1, help="Show at most this many incidents and sources.")
    ] = 100,
    out: Annotated[Path, Option(help="Directory for the pages.")] = Path("build/attributions"),
) -> None:
    """Write pages (HTML) on incidents and on the sources of the texts that taught them.

    OUT receives attributions.html (each wrong answer with its ranked texts, their scores, the
    answer without the flagged ones, and what was decided) and sources.html (the ledger over time).
    """
    settings = load_settings(config, database=database)
    engine = existing_engine(settings)
    if query is not None:
        named = named_query(engine, query, (INCIDENTS, COMPLAINTS))
        if named is None:
            raise NotFoundError(f"nobody complained about an answer of query {query!r}")
        query = named.query_id
    found = incidents(engine, query, limit + 1)
    attributed = [one.event for one in found[:limit] if one.event]
    anchors = {
        (event.query_id, event.step): incidents_view.anchor_of(number)
        for number, event in enumerate(attributed, start=1)
    }
    sources = ledger(engine, settings, limit, anchors)
    make_directory(out)
    paths = write_stream_pages(
        out,
        incidents_view.stream_view(found[:limit], standings(sources, settings)),
        sources,
        heads=[("query", query)] if query else [],
        most=limit,
        more=len(found) > limit,
    )
    for label, path in zip(("wrong answers", "sources"), paths, strict=True):
        print_path(label, path)


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
    engine: Engine, settings: Settings, limit: int, anchors: dict[tuple[str, int], str]
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
