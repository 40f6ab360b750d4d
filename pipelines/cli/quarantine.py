"""`radarstream quarantine`: look at the texts that are left out, and let them back in."""

from datetime import UTC, datetime
from typing import Annotated

import typer
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import quarantine
from radarstream.connectors.state_table.queries.lookup import HELD
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.incident_view import SHORT_ID
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.queries import QueryName, named_query
from radarstream.pipelines.cli.terminal import (
    agree,
    cell,
    empty_table,
    print_json,
    printable,
    stdout,
)
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.pipelines.job.incidents import settling
from radarstream.pipelines.job.incidents.settling import policy_of
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError, NotFoundError
from radarstream.schemas.times import milliseconds, stored_time

app = typer.Typer(help="Show or release texts that taught a wrong answer.", no_args_is_help=True)


@app.command("list")
def list_texts(
    query: Annotated[
        str | None, typer.Argument(help="A query's id or question; default: all.")
    ] = None,
    config: Config = None,
    proposed: Annotated[
        bool,
        typer.Option("--proposed", help="Also show proposed texts, and why they are not left out."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the texts that are left out, the latest first."""
    engine = existing_engine(load_settings(config))
    query = held_query(engine, query) if query else query
    rows = quarantine.list_quarantine(engine, query, active_only=not proposed)
    if as_json:
        print_json([row | {"updated_at": stored_time(row.pop("updated_ms"))} for row in rows])
        return
    columns = ("text", "for", "state", "address", "text begins")
    table = empty_table(*columns, whole=("text", "state"))
    for row in rows:
        table.add_row(
            row["text_key"][: SHORT_ID + 2],
            "all queries" if row["everywhere"] else cell(row["query_id"], limit=40),
            "out" if row["active"] else "released" if row["released"] else row["status"] or "",
            cell(row["url"] or row["title"], "dim", limit=120),
            cell(row["excerpt"], limit=100),
        )
    stdout.print(table)
    if not rows:
        which = f" of query {printable(query)!r}" if query else ""
        stdout.print(f"no text{which} is left out", markup=False, highlight=False, soft_wrap=True)


@app.command()
def release(
    query: QueryName,
    text: Annotated[
        str | None,
        typer.Argument(help="Key of a text, may be shortened; default: all texts."),
    ] = None,
    config: Config = None,
    yes: Yes = False,
) -> None:
    """Let texts back into the snapshots of a query.

    Their sources get back what was counted against them for the same wrong answer.
    """
    settings = load_settings(config)
    engine = existing_engine(settings)
    query = held_query(engine, query)
    held = quarantine.list_quarantine(engine, query)
    chosen = {row["text_key"] for row in held if row["text_key"].startswith(text or "")}
    key = f" with a key that begins with {text!r}" if text else ""
    if not chosen:
        raise NotFoundError(f"query {query!r} has no text in quarantine{key}")
    if text is not None and len(chosen) > 1:
        raise ConfigurationError(f"query {query!r} has several texts in quarantine{key}")
    texts_told = counted_noun(len(chosen), "text")
    agree(f"Let {texts_told} of {query!r} back in?", f"let {texts_told} back in", yes=yes)
    now_ms = milliseconds(datetime.now(UTC))
    settling.release(engine, query, sorted(chosen), policy_of(settings), now_ms=now_ms)
    stdout.print(f"{texts_told} released", highlight=False)


def held_query(engine: Engine, query: str) -> str:
    """The id of a query with texts here, named by id or question; or what was typed."""
    named = named_query(engine, query, HELD)
    return named.query_id if named else query
