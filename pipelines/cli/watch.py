"""`radarstream watch`: fetch every watched query on its cadence."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from radarstream.pipelines.cli.options import Config, Once
from radarstream.pipelines.cli.terminal import cell, print_json, stdout
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.errors import ConfigurationError

DAY_S = 86_400.0
MONTH_DAYS = 31


def watch(
    watchlist: Annotated[
        Path | None, typer.Option(help="YAML file; default: the list in the state database.")
    ] = None,
    config: Config = None,
    once: Once = False,
    fetch_pages: Annotated[
        bool, typer.Option("--fetch-pages", help="Read the result pages, not only snippets.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the plan and its credits; fetch nothing."),
    ] = False,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON Schema of a watchlist file.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the plan as JSON.")] = False,
) -> None:
    """Search for every query of a watchlist on schedule and publish the snapshots.

    The key of the search service comes from the environment (SERPAPI_KEY). SIGTERM finishes the
    fetch in hand and exits 0; SIGHUP reads the file again. --once exits with 1 when a fetch failed.
    """
    if schema:
        from radarstream.pipelines.job.collecting.watchlist import watchlist_schema

        print_json(watchlist_schema())
        return
    settings = watch_settings(load_settings(config), fetch_pages)
    if dry_run:
        show(plan(settings, watchlist), as_json)
        return
    from radarstream.pipelines.job.collecting.watching import (
        watch_list,  # takes a while: the other commands go without
    )

    if watch_list(settings, watchlist, once=once):
        raise typer.Exit(1)


def watch_settings(settings: Settings, fetch_pages: bool) -> Settings:
    """Lay the flag over the settings."""
    if not fetch_pages:
        return settings
    chosen = settings.watch.model_copy(update={"fetch_pages": True})
    return settings.model_copy(update={"watch": chosen})


def plan(settings: Settings, file: Path | None) -> dict[str, Any]:
    """Return what each query asks for and costs, and whether the account's limits allow it."""
    from radarstream.pipelines.job.collecting.watchlist import cadence_seconds, read_watchlist

    if file is None:
        raise ConfigurationError("--dry-run needs --watchlist FILE")
    queries: list[dict[str, Any]] = []
    for entry in read_watchlist(file):
        credits_needed = entry.request.pages
        a_day = credits_needed * DAY_S / cadence_seconds(entry.cadence) if entry.active else 0.0
        queries.append(
            {
                "id": entry.query.id,
                "question": entry.question,
                "active": entry.active,
                "k": entry.k,
                "cadence": entry.cadence,
                "credits_a_fetch": credits_needed,
                "credits_a_day": round(a_day, 3),
            }
        )
    a_day = sum(query["credits_a_day"] for query in queries)
    return {
        "queries": queries,
        "credits_at_start": sum(q["credits_a_fetch"] for q in queries if q["active"]),
        "credits_a_month": round(a_day * MONTH_DAYS, 1),
        "monthly_credits": settings.search.monthly_credits,
        "requests_an_hour": round(a_day / 24, 2),
        "requests_per_hour": settings.search.requests_per_hour,
    }


def show(planned: dict[str, Any], as_json: bool) -> None:
    """Print a plan."""
    if as_json:
        print_json(planned)
        return
    table = Table("query", "question", "k", "cadence", "credits", "a day")
    for query in planned["queries"]:
        style = "" if query["active"] else "dim"
        table.add_row(
            cell(query["id"], style, limit=24),
            cell(query["question"], style),
            str(query["k"]),
            query["cadence"] if query["active"] else "not active",
            str(query["credits_a_fetch"]),
            f"{query['credits_a_day']:g}",
        )
    stdout.print(table)
    over = planned["credits_a_month"] > planned["monthly_credits"]
    fast = planned["requests_an_hour"] > planned["requests_per_hour"]
    stdout.print(
        f"credits: {planned['credits_at_start']} at start, {planned['credits_a_month']:g} a month "
        f"of {planned['monthly_credits']}{': OVER THE BUDGET' if over else ''}; "
        f"requests: {planned['requests_an_hour']:g} an hour of {planned['requests_per_hour']}"
        f"{': TOO MANY' if fast else ''}",
        highlight=False,
        soft_wrap=True,
    )
