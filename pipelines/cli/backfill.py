"""`radarstream backfill`: past periods through the search service's date filter."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.terminal import agree, note, printed, say
from radarstream.pipelines.job.collecting import backfilling
from radarstream.pipelines.job.collecting.watchlist import read_watchlist
from radarstream.pipelines.job.stopping import Stop
from radarstream.pipelines.job.telemetry.logs import configure_logging
from radarstream.pipelines.searching import opened_search, search_client, search_service
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.searching import SearchRequest

SHOWN = 10  # failures on the terminal


def backfill(
    first: Annotated[str, Option("--from", help="First period: 2015, 2015-03 or 2015-Q2.")],
    last: Annotated[str, Option("--to", help="Last period, in the same form.")],
    watchlist: Annotated[Path, Option(help="YAML file with the queries.")],
    every: Annotated[
        backfilling.Every, Option(help="Length of a period; each gives one snapshot.")
    ] = "year",
    query: Annotated[list[str] | None, Option(help="Ids of queries; default: all.")] = None,
    out: Annotated[Path | None, Option(help="Snapshot file (.jsonl) instead of the topic.")] = None,
    config: Config = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Search for every query in every past period; show the cost first.

    With --out an interrupted backfill continues: what the file holds is not searched again. The
    search service's date filter lets some later pages through, so scores on such snapshots are
    optimistic.
    """
    settings = load_settings(config)
    spans = backfilling.periods(first, last, every, datetime.now(UTC).date())
    requests = _chosen(watchlist, frozenset(query or ()))
    with _destination(settings, out) as (present, write):
        work = backfilling.planned(requests, spans, present)
        if work:
            _check_service(settings)
            there = f"; {len(present)} snapshots are there already" if present else ""
            service = search_service(settings.search)
            cost = sum(service.credits(request.k) for request in work)
            note(f"{len(work)} searches, {cost} credits{there}")
            agree("Go on?", f"spend {cost} credits", yes=yes)
        configure_logging(settings.telemetry)
        stop = Stop()
        stop.install()
        shared_engine(settings)  # holds the budget: without it nothing is searched
        with opened_search(settings, stop.clock) as (search, found):
            failures = backfilling.run_backfill(work, search, write, stop)
            spent = found.credits
    failed = [_failure(request, why) for request, why in failures]
    if not printed({"wanted": len(work), "failed": failed, "credits": spent}, as_json):
        say(f"{len(work) - len(failed)} snapshots, {spent} credits")
    if failed:
        for failure in failed[:SHOWN]:
            note(" ".join(failure.values()), 400)
        raise typer.Exit(1)


def _chosen(file: Path, ids: frozenset[str]) -> list[SearchRequest]:
    """The requests of the active queries, or of those with these ids."""
    entries = read_watchlist(file)
    if missing := ids - {entry.query.id for entry in entries}:
        raise ConfigurationError(f"no query {', '.join(sorted(missing))} in {file}")
    return [e.request for e in entries if (e.query.id in ids if ids else e.active)]


@contextmanager
def _destination(
    settings: Settings, out: Path | None
) -> Iterator[tuple[frozenset[str], backfilling.Write]]:
    """What is already there, and what writes a snapshot."""
    if out is None:
        ensure_topics(settings.kafka)
        with KafkaSink(settings.kafka) as sink:
            yield frozenset(), lambda snapshot: sink.publish([outbox_record(snapshot)])
        return
    if out.suffix != ".jsonl":
        raise ConfigurationError(f"--out must end in .jsonl, got {out}")
    with backfilling.opened_history(out) as history:
        yield history


def _check_service(settings: Settings) -> None:
    """Raise ConfigurationError without a key or a date filter, before anybody is asked."""
    files = "`radarstream ingest` publishes histories from files without a search"
    try:
        client = search_client(settings.search)
    except ConfigurationError as error:
        raise ConfigurationError(f"{error}; {files}") from None
    client.close()
    if not client.service.by_date:
        raise ConfigurationError(f"{client.service.title} has no date filter; {files}")


def _failure(request: SearchRequest, why: str) -> dict[str, str]:
    days = f"{request.dates.first} to {request.dates.last}:" if request.dates else ""
    return {"query": request.query.id, "days": days, "why": why}
