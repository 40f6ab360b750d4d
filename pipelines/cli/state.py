"""`radarstream state`: look into the state database, move it, forget a query, migrate."""

import json
import sys
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from connectors.state_table.engine import open_engine
from connectors.state_table.forgetting import KEYED_TOPICS, Forgotten, compact, forget
from connectors.state_table.memory import MemoryRow, count, load, load_first, row_bytes
from connectors.state_table.migration import HEAD, pending_sql
from connectors.state_table.outbox import depth
from connectors.state_table.transfer import export_lines, import_file
from connectors.state_table.watchlist import find
from pipelines.build import shared_engine
from pipelines.cli.terminal import cell, print_json, print_path, printable, stderr, stdout
from pipelines.settings import Settings, load_settings
from schemas.codec.state import decode_state
from schemas.errors import BrokerError, InputError, RadarstreamError

Config = Annotated[Path | None, typer.Option(help="TOML settings file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

app = typer.Typer(
    help="Look into the state database, move it, forget a query.", no_args_is_help=True
)


class UnknownQueryError(RadarstreamError):
    """No snapshot of this query was ever folded."""


@app.command()
def show(
    query: Annotated[str | None, typer.Argument(help="A query's id; default: all.")] = None,
    config: Config = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows without a query.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show what is remembered about a query, or a table of all."""
    engine = shared_engine(load_settings(config))
    if query is None:
        rows, total = load_first(engine, limit), count(engine)
        if as_json:
            print_json({"queries": total, "rows": [described(row) for row in rows]})
        else:
            print_rows(rows, total)
        return
    row = load(engine, [query]).get(query)
    if row is None:
        raise UnknownQueryError(f"nothing is remembered about query {query!r}")
    if as_json:
        print_json(described(row))
    else:
        print_row(row)


@app.command()
def export(
    config: Config = None,
    out: Annotated[Path | None, typer.Option(help="JSON lines; default: standard output.")] = None,
) -> None:
    """Write memory, watchlist, credits and source ledger as of one moment, for `state import`."""
    engine = shared_engine(load_settings(config))
    if unsent := depth(engine):
        stderr.print(f"{unsent} events wait to be published and are not in the export")
    if out is None:
        sys.stdout.writelines(export_lines(engine))
        return
    part = out.with_name(f"{out.name}.part")  # a file of the right name is a whole one
    with part.open("w", encoding="utf-8") as file:
        file.writelines(export_lines(engine))
    part.replace(out)
    print_path("exported to", out)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="What `state export` wrote.")],
    config: Config = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Also where a row here is newer than the file's.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the rows of an export over those of the same keys: all of them or none."""
    written = import_file(shared_engine(load_settings(config)), file, replace=replace)
    if as_json:
        print_json(written)
        return
    table = Table("table", "rows")
    for name, rows in written.items():
        table.add_row(name, str(rows))
    stdout.print(table)


@app.command("forget")
def forget_(
    query: Annotated[str, typer.Argument(help="The query's id.")],
    config: Config = None,
    question: Annotated[
        str | None, typer.Option(help="Its question, if the watchlist does not have it.")
    ] = None,
    retract: Annotated[
        bool, typer.Option("--retract", help="Publish tombstones to the topics of its answers.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delete a query with all traces, and say what could not be deleted here."""
    settings = load_settings(config)
    engine = shared_engine(settings)
    if not yes:
        typer.confirm(f"Delete everything about query {printable(query)!r}?", abort=True, err=True)
    question = question or watched_question(settings, query)
    forgotten = forget(engine, query, question)
    compacted = compact(engine)
    failure = publish_tombstones(settings, query) if retract else None
    kept = remainder(forgotten, compacted=compacted, retracted=retract and failure is None)
    if as_json:
        print_json({"query_id": query, "deleted": forgotten._asdict(), "kept": kept})
    else:
        print_forgotten(forgotten, kept)
    if failure is not None:
        raise failure


@app.command()
def migrate(
    config: Config = None,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print what is to be done as SQL, and do nothing.")
    ] = False,
) -> None:
    """Bring the database to this release's schema, as every command does when it opens it."""
    settings = load_settings(config)
    if not sql:
        shared_engine(settings)
        stdout.print(f"the state database has schema {HEAD}")
        return
    engine = open_engine(settings.database, migrate=False)
    sys.stdout.write(pending_sql(engine) or f"-- nothing to do: the schema is {HEAD}\n")
    engine.dispose()


def described(row: MemoryRow) -> dict[str, Any]:
    """Return a row with its state decoded, as JSON values."""
    moment = datetime(1970, 1, 1, tzinfo=UTC)
    with suppress(OverflowError):
        moment += timedelta(milliseconds=row.as_of_ms)
    values: dict[str, Any] = {
        "query_id": row.query_id,
        "defense": row.defense,
        "step": row.step,
        "as_of": moment.isoformat(timespec="milliseconds"),
        "answer": None,
        "support": None,
        "conflict": None,
        "log_epoch": row.log_epoch,
        "log_partition": row.log_partition,
        "log_offset": row.log_offset,
        "log_high_offset": row.log_high_offset,
        "bytes": row_bytes(row),
    }
    try:
        belief = decode_state(row.state)
    except InputError as error:
        return values | {"damaged": str(error)}
    return values | (asdict(belief) if belief else {})


def print_row(row: MemoryRow) -> None:
    """Print one row, a line per value."""
    table = Table(show_header=False)
    for name, value in described(row).items():
        table.add_row(name, cell("" if value is None else str(value), limit=2_000))
    stdout.print(table)


def print_rows(rows: list[MemoryRow], total: int) -> None:
    """Print rows as a table."""
    table = Table("query", "answer", "support", "conflict", "step", "as of", "partition", "offset")
    for row in rows:
        values = described(row)
        answer = values["answer"] if "damaged" not in values else f"({values['damaged']})"
        numbers = (values["support"], values["conflict"])
        table.add_row(
            cell(row.query_id),
            cell(answer or ""),
            *("" if number is None else f"{number:.3f}" for number in numbers),
            str(row.step),
            values["as_of"],
            str(row.log_partition),
            str(row.log_offset),
        )
    stdout.print(table)
    if total > len(rows):
        stdout.print(f"{len(rows)} of {total} queries; --limit shows more")


def watched_question(settings: Settings, query: str) -> str | None:
    """Return the question of a query that is or was on the watchlist."""
    entry = find(shared_engine(settings), query)
    if entry is None:
        return None
    with suppress(ValueError, RecursionError):
        value = json.loads(entry.entry)
        if isinstance(value, dict) and isinstance(value.get("question"), str):
            return str(value["question"])
    return None


def publish_tombstones(settings: Settings, query: str) -> BrokerError | None:
    """Tell the topics of answers and attributions that the query's records are void.

    After the database: an event that was unsent cannot come behind its tombstone. Returns what
    went wrong, so that what was deleted can still be said.
    """
    from connectors.kafka.sink import KafkaSink

    try:
        with KafkaSink(settings.kafka) as sink:
            for topic in KEYED_TOPICS:
                sink.retract(topic, query)
    except BrokerError as error:
        return error
    return None


def remainder(forgotten: Forgotten, *, compacted: bool, retracted: bool) -> list[str]:
    """Say in sentences what is left of a forgotten query, and where."""
    kept = []
    if forgotten.cached_answers is None:
        kept.append(
            "cached model answers: the question is not on the watchlist; give it with --question"
        )
    if not compacted:
        kept.append(
            "the bytes of deleted rows in the database's files: another process was writing or "
            "space was short; run the command again"
        )
    kept.append(
        "published answers and attributions: tombstones were sent, the brokers delete the records "
        "when they compact the topics or retention ends"
        if retracted
        else "published answers and attributions in their topics: --retract sends tombstones"
    )
    kept.append("search snapshots and dead letters in their topics, until their retention ends")
    kept.append("exports, replay directories, logs of consumers and backups of the database")
    kept.append(
        "a watchlist file that still names the query brings it back, and so does a snapshot of "
        "it that was not yet answered"
    )
    return kept


def print_forgotten(forgotten: Forgotten, kept: list[str]) -> None:
    """Print what was deleted and what was not."""
    table = Table("deleted", "rows")
    for name, rows in forgotten._asdict().items():
        table.add_row(name.replace("_", " "), "not looked for" if rows is None else str(rows))
    stdout.print(table)
    stdout.print("not deleted:")
    for sentence in kept:
        stdout.print(f"- {sentence}", markup=False, highlight=False, soft_wrap=True)
