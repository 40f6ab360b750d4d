"""`radarstream state`: look into the state database, move it, forget a query, migrate."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from radarstream.connectors.state_table.database.compaction import Compacted, compact
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.migration import HEAD, pending_sql
from radarstream.connectors.state_table.database.transfer import export_lines, import_file
from radarstream.connectors.state_table.queries.forgetting import KEYED_TOPICS, forget
from radarstream.connectors.state_table.queries.lookup import ANYWHERE, queries_named
from radarstream.connectors.state_table.queries.memory import (
    MemoryRow,
    count,
    load,
    load_first,
    row_bytes,
)
from radarstream.connectors.state_table.queries.outbox import depth
from radarstream.pipelines.build import existing_engine, shared_engine
from radarstream.pipelines.cli.forgotten import (
    NOT_REWRITTEN,
    QUESTION_UNKNOWN,
    anything,
    print_forgotten,
    remainder,
)
from radarstream.pipelines.cli.options import AsJson, Config, Yes
from radarstream.pipelines.cli.queries import Named, QueryName, named_query, unrecorded
from radarstream.pipelines.cli.terminal import (
    agree,
    cell,
    empty_table,
    note,
    print_json,
    print_path,
    print_values,
    printable,
    stderr,
    stdout,
)
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.codec.state import decode_state
from radarstream.schemas.errors import BrokerError, ConfigurationError, InputError, NotFoundError
from radarstream.schemas.times import stored_time

app = typer.Typer(
    help="Show, export and import the state database; forget a query.", no_args_is_help=True
)


@app.command()
def show(
    query: Annotated[
        str | None, typer.Argument(help="A query's id, or its question; default: all.")
    ] = None,
    config: Config = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows if no query is given.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show what is remembered about a query, or a table of all."""
    engine = existing_engine(load_settings(config))
    if query is None:
        rows, total = load_first(engine, limit), count(engine)
        if as_json:
            print_json({"queries": total, "rows": [described(row) for row in rows]})
        else:
            print_rows(rows, total)
        return
    query_id = (named_query(engine, query, ANYWHERE) or Named(query, None)).query_id
    row = load(engine, [query_id]).get(query_id)
    if row is None:
        raise NotFoundError(f"nothing is remembered about query {query!r}")
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
    engine = existing_engine(load_settings(config))
    if unsent := depth(engine):
        stderr.print(f"{unsent} events wait to be published and are not in the export")
    lines = Counted(export_lines(engine))
    if out is None:
        sys.stdout.writelines(lines)
        stderr.print(f"{lines.rows} rows exported", highlight=False)
        return
    part = out.with_name(f"{out.name}.part")  # a file of the right name is a whole one
    with part.open("w", encoding="utf-8") as file:
        file.writelines(lines)
    part.replace(out)
    print_path(f"{lines.rows} rows exported to", out)


class Counted:
    """The lines of an export, counted as they pass."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines = lines
        self._passed = 0

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            yield line
            self._passed += 1

    @property
    def rows(self) -> int:
        """How many of the lines were rows; the first and the last are none."""
        return self._passed - 2


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="File of `state export`.")],
    config: Config = None,
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Also replace rows that are newer than those of the file."),
    ] = False,
    query: Annotated[
        str | None, typer.Option(metavar="ID", help="Only the memory of this query, to repair it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the rows of an export over those of the same keys: all of them or none."""
    if not file.is_file():
        raise ConfigurationError(f"{file} does not exist or is no file")
    engine = shared_engine(load_settings(config))
    written = import_file(engine, file, replace=replace, query_id=query)
    if query is not None and not written:
        raise NotFoundError(f"{file.name} has no memory of query {query!r}")
    if as_json:
        print_json(written)
        return
    table = Table("table", "rows")
    for name, rows in written.items():
        table.add_row(name, str(rows))
    stdout.print(table)


@app.command("forget")
def forget_(
    query: QueryName,
    config: Config = None,
    question: Annotated[
        str | None, typer.Option(help="Its question, if the database does not have it.")
    ] = None,
    retract: Annotated[
        bool, typer.Option("--retract", help="Publish tombstones to the topics of its answers.")
    ] = False,
    if_exists: Annotated[
        bool, typer.Option("--if-exists", help="Exit with 0 if there is nothing to delete.")
    ] = False,
    rewrite: Annotated[
        bool,
        typer.Option(
            "--rewrite/--no-rewrite",
            help="Rewrite the database's files, where the bytes of deleted rows stay otherwise. "
            "Workers wait meanwhile: on PostgreSQL for each table in turn.",
        ),
    ] = True,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete a query with all traces, and say what could not be deleted here.

    Exit code 1 if nothing was found about it: its id may be misspelt.
    """
    settings = load_settings(config)
    engine = existing_engine(settings)
    named = named_query(engine, query, ANYWHERE) or unrecorded(query, retract=retract)
    if named.query_id != query:
        note(f"the query that asks this: {named.query_id}", 200)
    query, question = named.query_id, question or named.question
    name = repr(printable(query))
    advice = "" if question else f" Cached model answers stay: {QUESTION_UNKNOWN}."
    agree(f"Delete everything about query {name}?{advice}", f"delete query {name}", yes=yes)
    forgotten = forget(engine, query, question)
    found = anything(forgotten)
    compacted = compact(engine) if rewrite else Compacted(done=False, left=(NOT_REWRITTEN,))
    failure = publish_tombstones(settings, query) if retract else None
    kept = remainder(forgotten, compacted.left, retracted=retract and failure is None)
    if question and (alike := queries_named(engine, question, ANYWHERE)):
        kept.insert(0, f"queries that ask the same: {', '.join(map(printable, alike))}")
    if as_json:
        print_json({"query_id": query, "deleted": forgotten._asdict(), "kept": kept})
    elif found or retract:
        print_forgotten(forgotten, kept)
    if failure is not None:
        raise failure
    if not (found or retract or if_exists):  # tombstones are also for what was deleted before
        raise NotFoundError(f"nothing was found about query {name}")


@app.command()
def migrate(
    config: Config = None,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print the migration as SQL, and change nothing.")
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
    values: dict[str, Any] = {
        "query_id": row.query_id,
        "defense": row.defense,
        "step": row.step,
        "as_of": stored_time(row.as_of_ms),
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
    print_values(described(row), limit=2_000)


def print_rows(rows: list[MemoryRow], total: int) -> None:
    """Print rows as a table."""
    table = empty_table()
    table.add_column("query", no_wrap=True)
    table.add_column("answer", min_width=5, overflow="fold")
    for name in ("support", "conflict", "snapshots"):
        table.add_column(name, no_wrap=True, justify="right")
    table.add_column("as of", min_width=len("2025-06-01"), overflow="fold")
    for row in rows:
        values = described(row)
        answer = values["answer"] if "damaged" not in values else f"({values['damaged']})"
        numbers = (values["support"], values["conflict"])
        table.add_row(
            cell(row.query_id, limit=len(row.query_id)),
            cell(answer or ""),
            *("" if number is None else f"{number:.3f}" for number in numbers),
            str(row.step),
            values["as_of"].replace("T", " "),  # may be told in two lines
        )
    stdout.print(table)
    if total > len(rows):
        stdout.print(f"{len(rows)} of {total} queries; --limit shows more")


def publish_tombstones(settings: Settings, query: str) -> BrokerError | None:
    """Tell the topics of answers and attributions that the query's records are void.

    After the database: an event that was unsent cannot come behind its tombstone. Returns what
    went wrong, so that what was deleted can still be said.
    """
    from radarstream.connectors.kafka.sink import KafkaSink

    try:
        with KafkaSink(settings.kafka) as sink:
            for topic in KEYED_TOPICS:
                sink.retract(topic, query)
    except BrokerError as error:
        return error
    return None
