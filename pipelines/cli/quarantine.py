"""`radarstream quarantine`: look at the texts that are left out, and let them back in."""

from typing import Annotated

import typer
from typer import Argument, Option

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.incidents import quarantine
from radarstream.connectors.state_table.queries.lookup import HELD
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config, QueryName, Yes
from radarstream.pipelines.cli.state import id_of
from radarstream.pipelines.cli.terminal import agree, cell, print_table, printed, say
from radarstream.pipelines.pages.safe_text import written_address
from radarstream.pipelines.pages.wrong_answers import text_state
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError, NotFoundError
from radarstream.schemas.shown import one_line
from radarstream.schemas.times import now_ms, stored_time
from radarstream.schemas.wording import counted_noun

SHORT_KEY = 10  # characters

app = typer.Typer(help="Show or release texts that taught a wrong answer.", no_args_is_help=True)


@app.command("list")
def list_texts(
    query: Annotated[str | None, Argument(help="A query's id or question; default: all.")] = None,
    config: Config = None,
    proposed: Annotated[
        bool, Option("--proposed", help="Also show proposed texts, and why they are not left out.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the texts that are left out, the latest first."""
    engine = existing_engine(load_settings(config))
    query = id_of(engine, query, HELD) if query else query
    rows = quarantine.list_quarantine(engine, query, active_only=not proposed)
    if printed([row | {"updated_at": stored_time(row.pop("updated_ms"))} for row in rows], as_json):
        return
    cells = (
        (
            row["text_key"][:SHORT_KEY],
            "all queries" if row["everywhere"] else cell(row["query_id"], limit=40),
            text_state(row)[0],
            cell(written_address(row["url"]) or row["title"], "dim", limit=120),
            cell(row["excerpt"], limit=100),
        )
        for row in rows
    )
    columns = ("text", "for", "state", "address", "text begins")
    print_table(columns, cells, whole=("text", "state"))
    if not rows:
        which = f" of query {one_line(query)!r}" if query else ""
        say(f"no text{which} is left out")


@app.command()
def release(
    query: QueryName,
    text: Annotated[
        str | None, Argument(help="Key of a text, may be shortened; default: all texts.")
    ] = None,
    config: Config = None,
    yes: Yes = False,
) -> None:
    """Let texts back into the snapshots of a query."""
    settings = load_settings(config)
    engine = existing_engine(settings)
    query = id_of(engine, query, HELD)
    held = quarantine.list_quarantine(engine, query)
    chosen = {row["text_key"] for row in held if row["text_key"].startswith(text or "")}
    key = f" with a key that begins with {text!r}" if text else ""
    if not chosen:
        raise NotFoundError(f"query {query!r} has no text in quarantine{key}")
    if text is not None and len(chosen) > 1:
        raise ConfigurationError(f"query {query!r} has several texts in quarantine{key}")
    count = counted_noun(len(chosen), "text")
    agree(f"Let {count} of {query!r} back in?", f"let {count} back in", yes=yes)
    at_ms = now_ms()
    in_transaction(engine, lambda one: quarantine.release(one, query, sorted(chosen), at_ms))
    say(f"{count} released")
