"""`radarstream sources`: which sites taught wrong answers; pardon or block them."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from sqlalchemy import Connection
from typer import Argument, Option

from radarstream.connectors.state_table import sources
from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config
from radarstream.pipelines.cli.terminal import cell, print_table, print_values, printed, say
from radarstream.pipelines.job.sources import consequence, described, source_named
from radarstream.pipelines.pages.safe_text import written_address
from radarstream.pipelines.settings import load_settings
from radarstream.schemas import sites
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.times import now_ms, stored_time

DAY = slice(0, len("2025-06-01"))
Domain = Annotated[
    str, Argument(help="A host, with all names below it; or a page's address, for its site.")
]
Note = Annotated[str | None, Option(help="Reason; shown with the block or pardon.")]

app = typer.Typer(
    help="Show which sites taught wrong answers; block or pardon sites.", no_args_is_help=True
)


@app.command("list")
def list_(
    config: Config = None,
    limit: Annotated[int, Option(min=1, help="Show at most this many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List sites: blocked ones, then those whose texts taught the most wrong answers."""
    with existing_engine(load_settings(config)).connect() as connection:
        found = sources.list_sources(connection)
    rows = [described(source) for source in found[:limit]]
    if printed({"sources": len(found), "rows": rows}, as_json):
        return
    whole = ("wrong answers", "first", "last", "verdict")
    cells = (
        (
            # `block` takes a domain: it is folded, never cut.
            cell(row["domain"], "red" if row["verdict"] else "", sites.KEY_CHARACTERS),
            row["wrong_answers"],
            *((row[when] or "")[DAY] for when in ("first", "last")),
            *(row["verdict"], cell("; ".join(row["claims"]))),
        )
        for row in rows
    )
    print_table(("domain", *whole, "about"), cells, whole=whole)
    say(f"{len(rows)} of {len(found)} sites")


@app.command()
def show(domain: Domain, config: Config = None, as_json: AsJson = False) -> None:
    """Show one host with the wrong answers that it and the names below it taught."""
    name = source_named(domain)
    with existing_engine(load_settings(config)).connect() as connection:
        source = sources.find_source(connection, name)
    if not (source.verdict or source.blame):
        raise NotFoundError(f"nobody judged {name!r}, and no wrong answer on record is from there")
    if printed(described(source) | {"history": [asdict(blame) for blame in source.blame]}, as_json):
        return
    print_values({"domain": name, "verdict": source.verdict or "none", "note": source.note or ""})
    cells = (
        (
            *(stored_time(blame.observed_ms)[DAY], blame.incident[:8]),
            *(cell(blame.query_id, limit=200), blame.step),
            *(cell(blame.answer), cell(written_address(blame.url), "dim", limit=120)),
        )
        for blame in source.blame
    )
    columns = ("when", "incident", "query", "step", "wrong answer", "address")
    print_table(columns, cells, whole=("when", "incident"))


@app.command()
def pardon(domain: Domain, config: Config = None, note: Note = None) -> None:
    """Keep the documents of a host, although a name above it is blocked."""
    _judge(domain, config, sources.SourceVerdict.PARDONED, note)


@app.command()
def block(domain: Domain, config: Config = None, note: Note = None) -> None:
    """Leave the documents of a host out of every snapshot."""
    _judge(domain, config, sources.SourceVerdict.BLOCKED, note)


@app.command()
def clear(domain: Domain, config: Config = None) -> None:
    """Undo `pardon` or `block`."""
    _judge(domain, config, None, None)


def _judge(
    domain: str, config: Path | None, verdict: sources.SourceVerdict | None, note: str | None
) -> None:
    name, at_ms = source_named(domain), now_ms()
    engine = existing_engine(load_settings(config))

    def write(connection: Connection) -> None:
        if verdict is None and sources.hold(connection, name).verdict is None:
            raise NotFoundError(f"nobody judged {name!r}")
        sources.judge(connection, name, verdict, note, at_ms)

    in_transaction(engine, write)
    say(consequence(name, verdict))
