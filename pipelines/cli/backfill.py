"""`radarstream backfill`: past periods through the search engine's date filter."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.table import Table

from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.terminal import (
    agree,
    cell,
    make_directory,
    note,
    print_json,
    stderr,
    stdout,
)
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.errors import ConfigurationError

if TYPE_CHECKING:
    from radarstream.connectors.serpapi.request import SearchRequest
    from radarstream.pipelines.job.collecting.backfilling import Backfill, Write

SHOWN = 10  # failures on the terminal


def backfill(
    first: Annotated[str, typer.Option("--from", help="2015, 2015-03 or 2015-Q2.")],
    last: Annotated[str, typer.Option("--to", help="In the same form; included in the search.")],
    watchlist: Annotated[Path, typer.Option(help="YAML file with the queries.")],
    every: Annotated[
        Literal["year", "quarter", "month"],
        typer.Option(help="Length of a period; each gives one snapshot."),
    ] = "year",
    query: Annotated[list[str] | None, typer.Option(help="Ids of queries; default: all.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Snapshot file (.jsonl) instead of the topic.")
    ] = None,
    config: Config = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the searches and their cost, and stop.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Search for every query in every past period; show the cost first.

    With --out an interrupted backfill goes on where it ended: what the file holds is not searched
    again. Date filters let later pages through: scores on such snapshots are optimistic.
    """
    from radarstream.pipelines.job.collecting.backfilling import periods, planned  # takes a while

    settings = load_settings(config)
    spans = periods(first, last, every, datetime.now(UTC).date())
    requests = chosen(watchlist, frozenset(query or ()))
    if dry_run:
        print_plan(planned(requests, spans, already_in(out)), as_json=as_json)
        return
    with destination(settings, out) as (present, write):
        work = planned(requests, spans, present)
        if work.requests:
            check_key(settings)
            confirm(work, len(present), yes)
        failed, spent = carried_out(settings, work, write)
    done = len(work.requests) - len(failed)
    if as_json:
        print_json({"wanted": len(work.requests), "failed": failed, "credits": spent})
    else:
        stdout.print(f"{done} snapshots, {spent} credits", highlight=False)
    if failed:
        for problem in failed[:SHOWN]:
            note(" ".join(problem.values()), 400)
        raise typer.Exit(1)


def chosen(file: Path, ids: frozenset[str]) -> "list[SearchRequest]":
    """Return the requests of the active queries, or of those with these ids."""
    from radarstream.pipelines.job.collecting.watchlist import read_watchlist

    entries = read_watchlist(file)
    known = {entry.query.id for entry in entries}
    if missing := ids - known:
        raise ConfigurationError(f"no query {', '.join(sorted(missing))} in {file}")
    return [e.request for e in entries if (e.query.id in ids if ids else e.active)]


@contextmanager
def destination(settings: Settings, out: Path | None) -> "Iterator[tuple[frozenset[str], Write]]":
    """Yield what is already there and what writes a snapshot."""
    from radarstream.pipelines.job.collecting.backfilling import opened_history

    if out is not None:
        if out.suffix != ".jsonl":
            raise ConfigurationError(f"--out must end in .jsonl, got {out}")
        make_directory(out.parent)
        with opened_history(out) as history:
            yield history
        return
    from radarstream.connectors.kafka.sink import KafkaSink
    from radarstream.connectors.kafka.topics import ensure_topics

    ensure_topics(settings.kafka)
    with KafkaSink(settings.kafka) as sink:
        yield frozenset(), lambda snapshot: sink.publish([outbox_record(snapshot)])


def confirm(work: "Backfill", present: int, yes: bool) -> None:
    """Say what it costs and ask, unless told not to."""
    there = f"; {present} snapshots are there already" if present else ""
    question = f"{len(work.requests)} searches, {work.credits} credits{there}"
    stderr.print(question, highlight=False)
    agree("Go on?", f"spend {work.credits} credits", yes=yes)


def check_key(settings: Settings) -> None:
    """Refuse, before anybody is asked, what could not search."""
    from radarstream.connectors.serpapi.client import SerpApiClient

    try:
        SerpApiClient(settings.search).close()
    except ConfigurationError as error:
        raise ConfigurationError(
            f"{error}; `radarstream ingest` publishes histories from files without a key"
        ) from None


def already_in(out: Path | None) -> frozenset[str]:
    """Ids of the snapshots that a file holds; it is not created."""
    from radarstream.pipelines.job.collecting.backfilling import opened_history

    if out is None or not out.is_file():
        return frozenset()
    with opened_history(out) as (present, _):
        return present


def print_plan(work: "Backfill", *, as_json: bool) -> None:
    """Print how many searches every query would take."""
    searches = Counter(request.query.id for request in work.requests)
    cost = Counter[str]()
    for request in work.requests:
        cost[request.query.id] += request.pages
    if as_json:
        rows = [{"query": q, "searches": searches[q], "credits": cost[q]} for q in searches]
        print_json({"searches": len(work.requests), "credits": work.credits, "queries": rows})
        return
    table = Table("query", "searches", "credits")
    for query, count in searches.items():
        table.add_row(cell(query, limit=len(query)), str(count), str(cost[query]))
    stdout.print(table)
    stdout.print(f"{len(work.requests)} searches, {work.credits} credits", highlight=False)


def carried_out(
    settings: Settings, work: "Backfill", write: "Write"
) -> tuple[list[dict[str, str]], int]:
    """Search and write; return what failed, or was not reached, and the credits spent."""
    from radarstream.pipelines.job.collecting.backfilling import run_backfill
    from radarstream.pipelines.job.collecting.watching import opened_search
    from radarstream.pipelines.job.stopping import Stop, SystemClock
    from radarstream.pipelines.job.telemetry.logs import configure_logging

    configure_logging(settings.telemetry)
    stop = Stop()
    stop.install()
    shared_engine(settings)  # holds the budget: without it nothing is searched
    with opened_search(settings, SystemClock(stop)) as searcher:
        failed = run_backfill(work, searcher, write, stop)
        return [problem_of(request, why) for request, why in failed], searcher.counts.credits


def problem_of(request: "SearchRequest", why: str) -> dict[str, str]:
    """Return a failed search in words."""
    days = f"{request.dates.first} to {request.dates.last}:" if request.dates else ""
    return {"query": request.query.id, "days": days, "why": why}
