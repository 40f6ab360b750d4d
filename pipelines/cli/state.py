"""`radarstream state`: look into the state database, move it, forget a query, migrate."""

import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TextIO

import typer
from rich.table import Column
from sqlalchemy import Engine, Table
from typer import Argument, Option

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.database.migration import HEAD, pending_sql
from radarstream.connectors.state_table.database.transfer import export_lines, import_file
from radarstream.connectors.state_table.forgetting import KEYED_TOPICS, compact, forget
from radarstream.connectors.state_table.queries import lookup, memory
from radarstream.connectors.state_table.queries.lookup import (
    ANYWHERE,
    queries_named,
    question_on_record,
)
from radarstream.connectors.state_table.queries.outbox import depth
from radarstream.pipelines.build import existing_engine, shared_engine
from radarstream.pipelines.cli import terminal
from radarstream.pipelines.cli.options import AsJson, Config, QueryName, Yes
from radarstream.pipelines.job.incidents.intake import only_query
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas import errors
from radarstream.schemas.codec.state import decode_stored
from radarstream.schemas.errors import ConfigurationError, InputError
from radarstream.schemas.shown import one_line
from radarstream.schemas.snapshot import Query
from radarstream.schemas.times import stored_time, wire_time

# Names of a belief's fields that mean something else elsewhere.
RENAMED = {"support": "entailment", "conflict": "contradiction"}

app = typer.Typer(
    help="Show, export and import the state database; forget a query.", no_args_is_help=True
)
QUESTION_UNKNOWN = "the question is not on record"
OF_ANY_QUESTION = {"cached_embeddings"}  # no sign that the query was there
RETRACTED = (
    "published answers and attributions: tombstones were sent, the brokers delete the records when "
    "they compact the topics or retention ends"
)
NOT_RETRACTED = "published answers and attributions in their topics: --retract sends tombstones"
KEPT = (
    "search snapshots, complaints and dead letters in their topics, until their retention ends",
    "dead letters that wait to be sent, and words of the query in rows of others: pages that an "
    "attribution of another query shows, and comments and notes that quote the question",
    "exports, replay directories, logs of consumers and backups of the database",
    "your own documents, pages that other queries found too, and the names of sites",
    "a watchlist file that still names the query brings it back, and so does a snapshot of it that "
    "was not yet answered",
)


class Named(NamedTuple):
    """A query's id, and its question where it is on record."""

    query_id: str
    question: str | None


@app.command()
def show(
    query: Annotated[
        str | None, Argument(help="A query's id, or its question; default: all.")
    ] = None,
    config: Config = None,
    limit: Annotated[int, Option(min=1, help="Rows if no query is given.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show what is remembered about a query, or a table of all."""
    engine = existing_engine(load_settings(config))
    if query is None:
        rows, total = memory.load_first(engine, limit), memory.count(engine)
        described = [_described(row, engine) for row in rows]
        if not terminal.printed({"queries": total, "rows": described}, as_json):
            _print_rows(described, total)
        return
    query_id = id_of(engine, query, ANYWHERE)
    row = memory.load(engine, [query_id]).get(query_id)
    if row is None:
        raise errors.NotFoundError(f"nothing is remembered about query {query!r}")
    if not terminal.printed(_described(row, engine), as_json):
        terminal.print_values(_described(row, engine), limit=2_000)


@app.command()
def export(
    config: Config = None,
    out: Annotated[Path | None, Option(help="JSON lines; default: standard output.")] = None,
) -> None:
    """Write memory, watchlist, credits and verdicts as of one moment, for `state import`."""
    engine = existing_engine(load_settings(config))
    if unsent := depth(engine):
        terminal.note(f"{unsent} events wait to be published and are not in the export")
    lines = export_lines(engine)
    if out is None:
        terminal.note(f"{_write(lines, sys.stdout)} rows exported")
        return
    part = out.with_name(f"{out.name}.part")  # a file of the right name is a whole one
    with part.open("w", encoding="utf-8") as file:
        rows = _write(lines, file)
    part.replace(out)
    terminal.print_path(f"{rows} rows exported to", out)


def _write(lines: Iterable[str], file: TextIO) -> int:
    """Write an export; return how many of its lines were rows."""
    count = 0
    for line in lines:
        file.write(line)
        count += 1
    return count - 2  # all but the first and the last


@app.command("import")
def import_(
    file: Annotated[Path, Argument(help="File of `state export`.")],
    config: Config = None,
    replace: Annotated[
        bool, Option("--replace", help="Also replace rows that are newer than those of the file.")
    ] = False,
    query: Annotated[
        str | None, Option(metavar="ID", help="Only the memory of this query, to repair it.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write the rows of an export over those of the same keys: all of them or none."""
    if not file.is_file():
        raise errors.ConfigurationError(f"{file} does not exist or is no file")
    engine = shared_engine(load_settings(config))
    written = import_file(engine, file, replace=replace, query_id=query)
    if query is not None and not written:
        raise errors.NotFoundError(f"{file.name} has no memory of query {query!r}")
    if not terminal.printed(written, as_json):
        terminal.print_table(("table", "rows"), written.items())


@app.command()
def migrate(
    config: Config = None,
    sql: Annotated[
        bool, Option("--sql", help="Print the migration as SQL, and change nothing.")
    ] = False,
) -> None:
    """Bring the database to this release's schema, as every command does when it opens it."""
    settings = load_settings(config)
    if not sql:
        shared_engine(settings)
        terminal.say(f"the state database has schema {HEAD}")
        return
    engine = open_engine(settings.database, migrate=False)
    sys.stdout.write(pending_sql(engine) or f"-- nothing to do: the schema is {HEAD}\n")
    engine.dispose()


def _described(row: memory.MemoryRow, engine: Engine) -> dict[str, Any]:
    """A row with its state decoded, as JSON values: `question` None if not on record, `answer` the
    defence's, `entailment` and `contradiction` of its step's documents, `standing` the answer that
    stands.
    """
    unknown = ("standing", "standing_confirmed_at", "answer", "entailment", "contradiction")
    log = ("log_epoch", "log_partition", "log_offset", "log_high_offset")
    values: dict[str, Any] = {
        "query_id": row.query_id,
        "question": question_on_record(engine, row.query_id),
        "defense": row.defense,
        "step": row.step,
        "as_of": stored_time(row.as_of_ms),
        **dict.fromkeys(unknown),
        **{name: getattr(row, name) for name in log},
        "bytes": memory.row_bytes(row),
    }
    try:
        state, standing = decode_stored(row.state)
    except errors.InputError as error:
        return values | {"damaged": str(error)}
    if standing is not None:
        at = standing.confirmed_at
        values["standing"] = standing.answer
        values["standing_confirmed_at"] = None if at is None else wire_time(at)
    fields = asdict(state) if state else {}
    return values | {RENAMED.get(name, name): value for name, value in fields.items()}


def _print_rows(rows: list[dict[str, Any]], total: int) -> None:
    query = Column("query", min_width=max((len(row["query_id"]) for row in rows), default=1))
    snapshots = Column("snapshots", no_wrap=True)
    cells = (
        (
            f"{row['query_id']}\n{one_line(row['question'] or '')}".rstrip(),
            terminal.cell(row["standing"] if "damaged" not in row else f"({row['damaged']})"),
            _confirmed(row),
            *(row["step"], row["as_of"].replace("T", " ")),
        )
        for row in rows
    )
    terminal.print_table((query, "standing answer", "confirmed", snapshots, "as of"), cells)
    if total > len(rows):
        terminal.say(f"{len(rows)} of {total} queries; --limit shows more")


def _confirmed(row: dict[str, Any]) -> str:
    """Whether the last snapshot confirmed the answer that stands, or since when none did."""
    if row["standing"] is None:
        return ""
    at = row["standing_confirmed_at"]
    if at is None:
        return "not known"
    return "yes" if at == row["as_of"] else f"not since {at[:10]}"


@app.command("forget")
def forget_query(
    query: QueryName,
    config: Config = None,
    retract: Annotated[
        bool, Option("--retract", help="Publish tombstones to the topics of its answers.")
    ] = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Delete a query with all traces, and say what could not be deleted here.

    Exit code 1 if nothing was found about it: its id may be misspelt.
    """
    settings = load_settings(config)
    engine = existing_engine(settings)
    named = named_query(engine, query, ANYWHERE) or _unrecorded(query, retract=retract)
    if named.query_id != query:
        terminal.note(f"the query that asks this: {named.query_id}")
    query, question = named
    name = repr(one_line(query))
    advice = "" if question else f" Cached model answers stay: {QUESTION_UNKNOWN}."
    terminal.agree(
        f"Delete everything about query {name}?{advice}", f"delete query {name}", yes=yes
    )
    deleted = forget(engine, query, question)
    found = any(deleted[key] for key in deleted.keys() - OF_ANY_QUESTION)
    in_files = compact(engine)
    failure = _publish_tombstones(settings, query) if retract else None
    topics = RETRACTED if retract and failure is None else NOT_RETRACTED
    kept = [*filter(None, [in_files]), topics, *KEPT]
    if question is None:
        kept.insert(0, f"cached model answers: {QUESTION_UNKNOWN}")
    if question and (alike := queries_named(engine, question, ANYWHERE)):
        kept.insert(0, f"queries that ask the same: {', '.join(map(one_line, alike))}")
    if terminal.printed({"query_id": query, "deleted": deleted, "kept": kept}, as_json):
        pass
    elif found or retract:
        cells = (
            (name.replace("_", " "), "not looked for" if rows is None else rows)
            for name, rows in deleted.items()
        )
        terminal.print_table(("deleted", "rows"), cells)
        terminal.say("not deleted:")
        for sentence in kept:
            terminal.say(f"- {sentence}")
    if failure is not None:
        raise failure
    if not (found or retract):  # tombstones are also for what was deleted before
        raise errors.NotFoundError(f"nothing was found about query {name}")


def _unrecorded(text: str, *, retract: bool) -> Named:
    """A query without rows. Raises ConfigurationError where --retract needs its id."""
    if text == "".join(text.split()):
        return Named(text, None)
    if retract:
        raise errors.ConfigurationError(
            f"no query on record asks {one_line(text)!r}: --retract needs its id, under which "
            "its answers were published"
        )
    return Named(text, text)


def _publish_tombstones(settings: Settings, query: str) -> errors.RadarstreamError | None:
    """Publish that the query was forgotten, after the database; return what went wrong."""
    try:
        from radarstream.connectors.kafka.sink import KafkaSink  # an extra

        with KafkaSink(settings.kafka) as sink:
            for topic in KEYED_TOPICS:
                sink.retract(topic, query)
    except (errors.BrokerError, errors.ConfigurationError) as error:
        return error
    return None


def named_query(engine: Engine, text: str, tables: Sequence[Table]) -> Named | None:
    """The query that an id or a question names in the tables. Raises ConfigurationError for
    several.
    """
    try:
        query_id = only_query(engine, text, tables)
    except InputError as error:
        raise ConfigurationError(error.detail) from None
    if query_id is None:
        return None
    question = lookup.question_on_record(engine, query_id)
    derived = {Query.from_text(spelling).id: spelling for spelling in lookup.spellings(text)}
    return Named(query_id, question or derived.get(query_id))


def id_of(engine: Engine, text: str, tables: Sequence[Table]) -> str:
    """The id of the query that is named; what was typed where no row is of it."""
    named = named_query(engine, text, tables)
    return named.query_id if named else text
