"""`radarstream watch`: search for every watched query on schedule."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from radarstream.pipelines.cli.options import Config, Once
from radarstream.pipelines.cli.terminal import cell, print_json, print_table, printed, say
from radarstream.pipelines.job.collecting.watchlist import read_watchlist, watchlist_schema
from radarstream.pipelines.searching import search_service
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.settings.watched import cadence_seconds
from radarstream.schemas.errors import ConfigurationError

DAY_S = 86_400.0
MONTH_DAYS = 31


def watch(
    watchlist: Annotated[
        Path | None, Option(help="YAML file; default: the list in the state database.")
    ] = None,
    config: Config = None,
    once: Once = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Print the plan and its credits; search for nothing.")
    ] = False,
    schema: Annotated[
        bool, Option("--schema", help="Print the JSON Schema of a watchlist file.")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Search for every query of a watchlist on schedule and publish the snapshots.

    The key of the search service comes from the environment, such as SERPAPI_KEY. SIGTERM finishes
    the search in hand and exits 0; SIGHUP reads the file again. --once exits with 1 when a search
    failed.
    """
    if schema:
        print_json(watchlist_schema())
        return
    settings = load_settings(config)
    if dry_run:
        _print_plan(_plan(settings, watchlist), as_json)
        return
    from radarstream.pipelines.job.collecting.collector import watch_list  # takes a while

    if watch_list(settings, watchlist, once=once):
        raise typer.Exit(1)


def _plan(settings: Settings, file: Path | None) -> dict[str, Any]:
    """What each query asks for and costs, and the limits of the account."""
    if file is None:
        raise ConfigurationError("--dry-run needs --watchlist FILE")
    service = search_service(settings.search)
    queries: list[dict[str, Any]] = []
    for entry in read_watchlist(file):
        price = service.credits(entry.k)
        a_day = price * DAY_S / cadence_seconds(entry.cadence) if entry.active else 0.0
        said = entry.model_dump(include={"question", "active", "k", "cadence"})
        costs = {"credits_a_fetch": price, "credits_a_day": round(a_day, 3)}
        queries.append({"id": entry.query.id} | said | costs)
    a_day = sum(query["credits_a_day"] for query in queries)
    return {
        "queries": queries,
        "credits_at_start": sum(q["credits_a_fetch"] for q in queries if q["active"]),
        "credits_a_month": round(a_day * MONTH_DAYS, 1),
        "monthly_credits": settings.search.monthly_credits,
        "requests_an_hour": round(a_day / 24, 2),
        "requests_per_hour": settings.search.requests_per_hour,
    }


def _print_plan(plan: dict[str, Any], as_json: bool) -> None:
    if printed(plan, as_json):
        return
    rows = (
        (
            cell(query["id"], style, limit=24),
            cell(query["question"], style),
            query["k"],
            query["cadence"] if query["active"] else "not active",
            *(query["credits_a_fetch"], f"{query['credits_a_day']:g}"),
        )
        for query in plan["queries"]
        for style in ("" if query["active"] else "dim",)
    )
    print_table(("query", "question", "k", "cadence", "credits", "a day"), rows)
    over = plan["credits_a_month"] > plan["monthly_credits"]
    fast = plan["requests_an_hour"] > plan["requests_per_hour"]
    say(
        f"credits: {plan['credits_at_start']} at start, {plan['credits_a_month']:g} a month "
        f"of {plan['monthly_credits']}{': OVER THE BUDGET' if over else ''}; "
        f"requests: {plan['requests_an_hour']:g} an hour of {plan['requests_per_hour']}"
        f"{': TOO MANY' if fast else ''}"
    )
