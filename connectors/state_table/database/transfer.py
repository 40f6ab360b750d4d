"""Exports and imports the state as JSON lines, for backups and between SQLite and PostgreSQL.

The file has a header line, a line per row `{"table":…,"row":{column:…}}` with bytes as base64, and
an end line with the number of rows, so that a truncated file is recognised. It does not have the
outbox, whose events belong to the topics; cached answers and vectors, which can be made again; the
last answers with their snapshots and events, which open complaints need; sessions and the last
questions of users.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Column, Connection, Engine, Insert, Table, and_, func, select

from radarstream.connectors.state_table.corpus.vectors import locked
from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database import tables as t
from radarstream.connectors.state_table.database.migration import HEAD
from radarstream.connectors.state_table.queries.memory import MemoryRow, remembered
from radarstream.schemas.codec.json_text import JsonObject, parse_object
from radarstream.schemas.codec.wire import compact_json
from radarstream.schemas.errors import InputError, ReasonClass, StateConflictError

FORMAT: Final = "radarstream.state"
FORMAT_VERSION: Final = 1
LINE_BYTES: Final = 16 * 2**20
ROWS_AT_ONCE: Final = 1_000
# The columns that never decrease in a row.
_AGES: Final[dict[Table, tuple[str, ...]]] = {
    t.MEMORY: ("step", "as_of_ms"),
    t.WATCHLIST: ("updated_ms",),
    t.SEARCH_CREDITS: ("used",),
    t.SOURCE_VERDICTS: ("decided_ms",),
    t.CORPUS_TEXTS: ("last_seen_ms",),
    t.CORPUS_QUERIES: ("last_seen_ms",),
    t.COMPLAINTS: ("received_ms",),
    t.INCIDENTS: ("revision", "decided_ms"),
    t.QUARANTINE: ("updated_ms",),
    t.CONSUMER_OFFSETS: ("next_offset",),
    t.USERS: ("changed_ms",),
    t.USER_TRUST: ("updated_ms",),
    t.EPSILON_SPENDING: ("epsilon",),
    t.ACTION_LOG: (),
}
TABLES: Final = {table.name: table for table in _AGES}


def export_lines(engine: Engine) -> Iterator[str]:
    """Yield the lines, each with its newline, of one state of the database."""
    with db.one_moment(engine) as connection:
        header = {"format": FORMAT, "version": FORMAT_VERSION, "schema": HEAD}
        yield compact_json(header) + "\n"
        count = 0
        for table in TABLES.values():
            statement = select(table).order_by(*table.primary_key)
            rows = connection.execution_options(yield_per=ROWS_AT_ONCE).execute(statement)
            names = [column.name for column in table.columns]
            for row in rows:
                plain = dict(zip(names, map(_plain, row), strict=True))
                yield compact_json({"table": table.name, "row": plain}) + "\n"
                count += 1
        yield compact_json({"rows": count}) + "\n"


def import_file(
    engine: Engine, file: Path, *, replace: bool = False, query_id: str | None = None
) -> dict[str, int]:
    """Write the rows of an exported file over those of the same keys; return their number by table.

    With `query_id`, only its memory. Every line is checked before the first is written, and all are
    written or none. Raises InputError with the line, and StateConflictError if a row is newer here
    than in the file, unless `replace`. Other rows stay.
    """
    for _ in read_rows(file):
        pass
    with engine.begin() as connection:
        upserts = {name: _upsert(connection, table, replace) for name, table in TABLES.items()}
        written: Counter[str] = Counter()
        for table, row in read_rows(file):
            if query_id is not None and (table is not t.MEMORY or row["query_id"] != query_id):
                continue
            if connection.execute(upserts[table.name], row).rowcount != 1:
                key = next(iter(table.primary_key)).key
                raise StateConflictError(
                    f"{table.name} row {row[key]!r} is newer here than in {file.name}; nothing "
                    "was imported (--replace takes the file's)"
                )
            written[table.name] += 1
        if written[t.CORPUS_TEXTS.name]:
            locked(connection, new=1)  # so that others notice texts without a vector
        if written[t.ACTION_LOG.name]:
            _number_on(connection, t.ACTION_LOG.c.seq)
    return dict(written)


def read_rows(file: Path) -> Iterator[tuple[Table, dict[str, Any]]]:
    """Yield the checked rows of an exported file. Raises InputError with the line."""
    number = 0
    with file.open("rb") as stream:
        while line := stream.readline(LINE_BYTES + 1):
            number += 1
            try:
                value = parse_object(line, max_bytes=LINE_BYTES)
                if number == 1:
                    _check_header(value)
                    continue
                if value.keys() == {"rows"}:
                    _check_end(value["rows"], number - 2, stream.read(1))
                    return
                parsed = _parsed(value)
            except InputError as error:
                detail = f"{file.name}:{number}: {error.detail}"
                raise InputError(error.reason, detail) from None
            yield parsed
    raise InputError(ReasonClass.MALFORMED_JSON, f"{file.name} is cut off after line {number}")


def _check_header(value: JsonObject) -> None:
    if value.get("format") != FORMAT:
        raise InputError(ReasonClass.UNKNOWN_SCHEMA, "this is not an exported state")
    if value.get("version") != FORMAT_VERSION:
        detail = f"the format is not of version {FORMAT_VERSION}"
        raise InputError(ReasonClass.UNKNOWN_SCHEMA, detail)


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
    given = value["row"]
    if given.keys() != {column.name for column in table.columns}:
        raise InputError(ReasonClass.UNKNOWN_FIELD, f"not the columns of {table.name}")
    row = {column.key: _value(column, given[column.name]) for column in table.columns}
    if table is t.MEMORY:
        remembered(MemoryRow(**row))
    return table, row


def _value(column: Column[Any], value: Any) -> Any:
    """Return a value for the column. Raises InputError."""
    if value is None and column.nullable:
        return None
    kind = column.type.python_type
    if kind is bytes and isinstance(value, str):
        try:
            return b64decode(value, validate=True)
        except (Base64Error, ValueError):
            raise InputError(ReasonClass.WRONG_TYPE, f"{column.name} is not base64") from None
    if kind is float and type(value) is int:
        value = float(value)
    if type(value) is not kind:
        raise InputError(ReasonClass.WRONG_TYPE, f"{column.name} is not of type {kind.__name__}")
    return value


def _upsert(connection: Connection, table: Table, replace: bool) -> Insert:
    """Return an INSERT over the row of the same key, unless that one is newer."""
    new, never = db.excluded(table), -(2**62)  # null times count as never
    if table is t.ACTION_LOG and not replace:  # rows never change
        same = and_(*(column == new[column.key] for column in table.columns))
        return db.upserting(connection, table, only_if=same)
    ahead = [
        func.coalesce(table.c[name], never) <= func.coalesce(new[name], never)
        for name in _AGES[table]
    ]
    return db.upserting(connection, table, only_if=None if replace or not ahead else and_(*ahead))


def _number_on(connection: Connection, column: Column[int]) -> None:
    """Let the next number follow the highest one; SQLite does so by itself."""
    if connection.dialect.name == "postgresql":
        sequence = func.pg_get_serial_sequence(column.table.name, column.name)
        connection.execute(
            select(func.setval(sequence, select(func.max(column)).scalar_subquery()))
        )


def _plain(value: Any) -> Any:
    return b64encode(value).decode("ascii") if isinstance(value, bytes) else value
