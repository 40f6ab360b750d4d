"""`radarstream incidents report`: pages on incidents and on sources, from the state database."""

from pathlib import Path
from typing import Annotated

from typer import Option

from radarstream.connectors.files.directory_lock import make_directory
from radarstream.connectors.state_table.database.tables import COMPLAINTS, INCIDENTS
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import Config
from radarstream.pipelines.cli.queries import named_query
from radarstream.pipelines.cli.terminal import print_path
from radarstream.pipelines.pages.incidents import incidents_view
from radarstream.pipelines.pages.incidents.incidents_view import (
    write_stream_pages,
)
from radarstream.pipelines.pages.incidents.stored import incidents, ledger, standings
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import NotFoundError


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
