"""`radarstream report-attributions`: pages on wrong answers and on sources, from the database."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import Engine

from radarstream.connectors.state_table.database.tables import ORIGINS, REPORTS
from radarstream.connectors.state_table.incidents.origin_listing import lives_of
from radarstream.connectors.state_table.incidents.origins import list_origins
from radarstream.connectors.state_table.incidents.quarantine import list_quarantine
from radarstream.connectors.state_table.incidents.reports import find_reports, report_of
from radarstream.connectors.state_table.sources.listing import (
    count_sources,
    history,
    latest_ms,
    summaries,
)
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import Config
from radarstream.pipelines.cli.queries import named_query
from radarstream.pipelines.cli.terminal import make_directory, print_path
from radarstream.pipelines.pages.incidents.event_view import Standing
from radarstream.pipelines.pages.incidents.incidents_view import (
    HeldText,
    Incident,
    anchor_of,
    incidents_of,
    stream_view,
)
from radarstream.pipelines.pages.incidents.page import SOURCES, write_stream_pages
from radarstream.pipelines.pages.incidents.sources_view import (
    Known,
    SourcesView,
    sources_view,
)
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.errors import RadarstreamError
from radarstream.schemas.sites import key_of, names_of
from radarstream.schemas.snapshot import Document

PAST = 200  # rows of a source's past, newest first
PER_ANSWER = 20  # reports and texts looked up for each wrong answer that is shown


class UnknownQueryError(RadarstreamError):
    """Nobody has reported an answer of this query."""


def report_attributions(
    config: Config = None,
    database: Annotated[
        str | None, typer.Option(help="URL of the database; default: that of the settings.")
    ] = None,
    query: Annotated[
        str | None, typer.Option(help="Only wrong answers of this query, an id or a question.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Most wrong answers, and most sources.")] = 100,
    out: Annotated[Path, typer.Option(help="Directory for the pages.")] = Path(
        "build/attributions"
    ),
) -> None:
    """Write who taught wrong answers, and which sources are blamed since when, as HTML.

    OUT receives attributions.html (each wrong answer with its ranked texts, the split, what is
    answered without them, and what was decided) and sources.html (the ledger over time).
    """
    settings = load_settings(config, database=database)
    engine = existing_engine(settings)
    if query is not None:
        named = named_query(engine, query, (ORIGINS, REPORTS))
        if named is None:
            raise UnknownQueryError(f"no wrong answer is known of query {query!r}")
        query = named.query_id
    found = incidents(engine, query, limit + 1)
    attributed = [one.event for one in found[:limit] if one.event]
    anchors = {
        (event.query_id, event.step): anchor_of(number)
        for number, event in enumerate(attributed, start=1)
    }
    sources = ledger(engine, settings, limit, anchors)
    make_directory(out)
    paths = write_stream_pages(
        out,
        stream_view(found[:limit], standings(sources, settings)),
        sources,
        heads=[("query", query)] if query else [],
        most=limit,
        more=len(found) > limit,
    )
    for label, path in zip(("wrong answers", "sources"), paths, strict=True):
        print_path(label, path)


def incidents(engine: Engine, query: str | None, limit: int) -> list[Incident]:
    """The newest wrong answers with all that is stored of each, attributed ones first."""
    events = list_origins(engine, query, limit)
    reports = [report_of(r) for r in find_reports(engine, limit=limit * PER_ANSWER, query_id=query)]
    held: defaultdict[str, list[HeldText]] = defaultdict(list)
    texts = list_quarantine(engine, query, active_only=False, limit=limit * PER_ANSWER)
    for row in texts:
        switches = {name: row[name] for name in ("active", "everywhere", "released")}
        held[row["misgeneration"]].append(HeldText(row["url"], row["title"], **switches))
    lives = lives_of(engine, [event.misgeneration for event in events])
    return incidents_of(events, lives, reports, held)


def standings(view: SourcesView, settings: Settings) -> Callable[[str], Standing | None]:
    """What the page of sources says of whose page an address is."""
    known = {source.domain: source for source in view.sources}

    def standing_of(url: str) -> Standing | None:
        page, granularity = Document(1, "", url=url), settings.sources.granularity
        above = (known[name] for name in names_of(page, granularity) if name in known)
        judged = next((source for source in above if source.verdict), None)
        source = judged or known.get(key_of(page, granularity))
        if source is None:
            return None
        words = source.verdict or f"reliability {source.reliability:.2f}"
        tone = {"blocked": "bad", "pardoned": "good"}.get(source.verdict, "")
        return Standing(f"{SOURCES}#{source.anchor}", words, tone)

    return standing_of


def ledger(
    engine: Engine, settings: Settings, limit: int, anchors: dict[tuple[str, int], str]
) -> SourcesView:
    """The ledger as of its latest event."""
    with engine.connect() as connection:
        known = [
            Known(summary, tuple(history(connection, summary.standing.domain, PAST)))
            for summary in summaries(connection, limit)
        ]
        return sources_view(
            known,
            total=count_sources(connection),
            as_of_ms=latest_ms(connection),
            half_life_days=settings.sources.half_life_days,
            anchors=anchors,
        )
