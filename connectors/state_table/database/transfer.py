"""The state as a file of JSON lines: a backup, and the way from SQLite to PostgreSQL and back.

A header line, one line per row `{"table":…,"row":{column:…}}` with bytes as base64, and an end
line with the number of rows, so that a file that was cut off is recognised. The outbox, the
response cache and the corpus's vectors are not in it: unsent events belong to the topics, cached
answers and vectors can be had again. Nor are the last answers with their snapshots, so that a
complaint that waits is of use only where its answer was given.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Column, Connection, Engine, Insert, Integer, Table, and_, func, select

from radarstream.connectors.state_table.corpus.listing import document_of
from radarstream.connectors.state_table.corpus.vectors import locked
from radarstream.connectors.state_table.database.migration import HEAD
from radarstream.connectors.state_table.database.tables import (
    COMPLAINTS,
    CORPUS_QUERIES,
    CORPUS_TEXTS,
    INCIDENTS,
    MEMORY,
    QUARANTINE,
    SEARCH_CREDITS,
    SOURCE_EVENTS,
    SOURCE_LEDGER,
    WATCHLIST,
    dialect_insert,
)
from radarstream.connectors.state_table.queries.memory import MemoryRow, remembered
from radarstream.schemas.codec.decoding import decode_taught
from radarstream.schemas.codec.former import FORMER_STATUS
from radarstream.schemas.codec.json_text import JsonObject, parse_object
from radarstream.schemas.codec.wire import compact_json
from radarstream.schemas.errors import InputError, ReasonClass, StateConflictError
from radarstream.schemas.incidents import ComplaintState, Decision
from radarstream.schemas.sources import EventKind, SourceVerdict

FORMAT: Final = "radarstream.state"
FORMAT_VERSION: Final = 1
LINE_BYTES: Final = 16 * 2**20
ROWS_AT_ONCE: Final = 1_000
TABLES: Final = {
    t.name: t
    for t in (
        MEMORY,
        WATCHLIST,
        SEARCH_CREDITS,
        SOURCE_LEDGER,
        SOURCE_EVENTS,
        CORPUS_TEXTS,
        CORPUS_QUERIES,
        COMPLAINTS,
        INCIDENTS,
        QUARANTINE,
    )
}
# What never goes down in a row that develops; an event does not without its domain.
_AGES: Final = {
    "memory": ("step", "as_of_ms"),
    "watchlist": ("updated_ms",),
    "search_credits": ("used",),
    "source_ledger": ("updated_ms", "revision"),
    "source_events": (),
    "corpus_texts": ("last_seen_ms",),
    "corpus_queries": ("last_seen_ms",),
    "reports": ("received_ms",),
    "origins": ("revision", "decided_ms"),
    "quarantine": ("updated_ms",),
}
_VERDICTS: Final = (None, *SourceVerdict)


def export_lines(engine: Engine) -> Iterator[str]:
    """Yield the lines, each with its newline, of the database as it is at one moment."""
    with engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        else:
            connection.execution_options(isolation_level="REPEATABLE READ")
        header = {"format": FORMAT, "version": FORMAT_VERSION, "schema": HEAD}
        yield compact_json(header) + "\n"
        count = 0
        for table in TABLES.values():
            statement = select(table).order_by(*table.primary_key)
            rows = connection.execution_options(yield_per=ROWS_AT_ONCE).execute(statement)
            names = [column.name for column in table.columns]
            for row in rows:
                plain = {name: _plain(value) for name, value in zip(names, row, strict=True)}
                yield compact_json({"table": table.name, "row": plain}) + "\n"
                count += 1
        yield compact_json({"rows": count}) + "\n"


def import_file(
    engine: Engine, file: Path, *, replace: bool = False, query_id: str | None = None
) -> dict[str, int]:
    """Write the rows of an exported file over those of the same keys; return them per table.

    With `query_id`, its memory alone. Every line is checked before the first is written, and all
    are written or none. Raises InputError, naming the line, and StateConflictError when a row has
    developed further here than in the file, unless `replace`. Rows that are not in the file stay.
    """
    for _ in read_rows(file):
        pass
    with engine.begin() as connection:
        upserts = {name: _upsert(connection, table, replace) for name, table in TABLES.items()}
        written: Counter[str] = Counter()
        for table, row in read_rows(file):
            if query_id is not None and (table is not MEMORY or row["query_id"] != query_id):
                continue
            if connection.execute(upserts[table.name], row).rowcount != 1:
                key = next(iter(table.primary_key)).key
                raise StateConflictError(
                    f"{table.name} row {row[key]!r} is newer here than in {file.name}; nothing "
                    "was imported (--replace takes the file's)"
                )
            written[table.name] += 1
        if written[CORPUS_TEXTS.name]:
            locked(connection, new=1)  # so that others look for what has no vector
    return dict(written)


def read_rows(file: Path) -> Iterator[tuple[Table, dict[str, Any]]]:
    """Yield the checked rows of an exported file. Raises InputError, naming the line."""
    number = rows = 0
    with file.open("rb") as stream:
        while line := stream.readline(LINE_BYTES + 1):
            number += 1
            with _naming(f"{file.name}:{number}"):
                value = parse_object(line, max_bytes=LINE_BYTES)
                if number == 1:
                    _check_header(value)
                elif value.keys() == {"rows"}:
                    _check_end(value["rows"], rows, stream.read(1))
                    return
                else:
                    yield _parsed(value)
                    rows += 1
    raise InputError(ReasonClass.MALFORMED_JSON, f"{file.name} is cut off after line {number}")


@contextmanager
def _naming(place: str) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(error.reason, f"{place}: {error.detail}") from None


def _check_header(value: JsonObject) -> None:
    if value.get("format") != FORMAT:
        raise InputError(ReasonClass.UNKNOWN_SCHEMA, "this is not an exported state")
    if value.get("version") != FORMAT_VERSION:
        raise InputError(
            ReasonClass.UNKNOWN_SCHEMA, f"the format is not of version {FORMAT_VERSION}"
        )


def _check_end(announced: Any, found: int, rest: bytes) -> None:
    if announced != found:
        raise InputError(ReasonClass.MISSING_FIELD, f"{announced} rows announced, {found} found")
    if rest:
        raise InputError(ReasonClass.MALFORMED_JSON, "something follows the end line")


def _parsed(value: JsonObject) -> tuple[Table, dict[str, Any]]:
    if value.keys() != {"table", "row"} or not isinstance(value["row"], dict):
        raise InputError(ReasonClass.UNKNOWN_FIELD, "a line is not {table, row}")
    table = TABLES.get(value["table"]) if isinstance(value["table"], str) else None
    if table is None:
        raise InputError(ReasonClass.UNKNOWN_FIELD, "there is no such table")
    later = {  # than the export
        c.name: c.type.python_type(0) for c in table.columns if c.server_default is not None
    }
    given = later | value["row"]
    if given.keys() != {column.name for column in table.columns}:
        raise InputError(ReasonClass.UNKNOWN_FIELD, f"not the columns of {table.name}")
    row = {column.key: _value(column, given[column.name]) for column in table.columns}
    _check_meaning(table, row)
    _check_incident(table, row)
    if table is CORPUS_TEXTS:
        _check_text(row)
    return table, row


def _value(column: Column[Any], value: Any) -> Any:
    """Return the value as the column takes it. Raises InputError."""
    if value is None and column.nullable:
        return None
    kind = column.type.python_type
    if kind is bytes and isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except (Base64Error, ValueError):
            raise InputError(ReasonClass.WRONG_TYPE, f"{column.name} is not base64") from None
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise InputError(ReasonClass.WRONG_TYPE, f"{column.name} is not of type {kind.__name__}")
    if type(column.type) is Integer and abs(value) >= 2**31:
        raise InputError(ReasonClass.OUT_OF_RANGE, f"{column.name} is too large")
    return value


def _check_meaning(table: Table, row: dict[str, Any]) -> None:
    if table is MEMORY:
        remembered(MemoryRow(**row))
        if row["log_high_offset"] < row["log_offset"]:
            raise InputError(ReasonClass.OUT_OF_RANGE, "log_high_offset is too small")
    elif table is WATCHLIST:
        parse_object(row["entry"].encode(), max_bytes=LINE_BYTES)
    elif table is SOURCE_LEDGER:
        if row["verdict"] not in _VERDICTS:
            raise InputError(ReasonClass.WRONG_TYPE, "verdict is neither pardoned nor blocked")
        if not all(0.0 <= row[name] < inf for name in ("honest", "dishonest")):
            raise InputError(ReasonClass.OUT_OF_RANGE, "honest or dishonest is no count")
    elif table is SOURCE_EVENTS:
        if row["kind"] not in tuple(EventKind):
            raise InputError(ReasonClass.WRONG_TYPE, "kind is none of a source's events")
        if not 0.0 <= row["weight"] < inf:
            raise InputError(ReasonClass.OUT_OF_RANGE, "weight is no count")


def _check_incident(table: Table, row: dict[str, Any]) -> None:
    if table is COMPLAINTS and row["state"] not in tuple(ComplaintState):
        raise InputError(ReasonClass.WRONG_TYPE, "state is none of a complaint's")
    if table is not INCIDENTS:
        return
    if row["decision"] not in (None, Decision.APPROVED, Decision.DISMISSED):
        raise InputError(ReasonClass.WRONG_TYPE, "word is neither approved nor dismissed")
    if row["model_erred"] and row["decision"] != Decision.DISMISSED:
        raise InputError(ReasonClass.WRONG_TYPE, "model_erred without a person's decision")
    row["status"] = FORMER_STATUS.get(row["status"], row["status"])
    if row["event"] is not None and decode_taught(row["event"]).status != row["status"]:
        raise InputError(ReasonClass.WRONG_TYPE, "decision is not the event's status")


def _check_text(row: dict[str, Any]) -> None:
    try:
        document = document_of(row["text"], row["title"], row["url"], row["published_ms"])
    except (UnicodeDecodeError, OverflowError):
        raise InputError(ReasonClass.WRONG_TYPE, "this is no text of a corpus") from None
    if document.content_id != row["id"]:
        raise InputError(ReasonClass.OUT_OF_RANGE, "the id is not that of the text")


def _upsert(connection: Connection, table: Table, replace: bool) -> Insert:
    """Return an INSERT over the row of the same key that writes nothing if that one is newer."""
    insert = dialect_insert(connection, table)
    never = -(2**62)  # what is null has not happened
    ahead = [
        func.coalesce(table.c[name], never) <= func.coalesce(insert.excluded[name], never)
        for name in _AGES[table.name]
    ]
    return insert.on_conflict_do_update(
        index_elements=list(table.primary_key),
        set_={c.key: insert.excluded[c.key] for c in table.columns if not c.primary_key},
        where=None if replace or not ahead else and_(*ahead),
    ).execution_options(preserve_rowcount=True)


def _plain(value: Any) -> Any:
    return b64encode(value).decode("ascii") if isinstance(value, bytes) else value
