"""Reads and writes rows, on SQLite and PostgreSQL alike."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import islice
from typing import Any, Final, TypeVar, TypeVarTuple

import sqlalchemy as sa
from sqlalchemy.sql.base import ReadOnlyColumnCollection

from radarstream.connectors.state_table.database.engine import retry_contended
from radarstream.connectors.state_table.database.tables import dialect_insert

Rows = Mapping[str, Any] | Sequence[Mapping[str, Any]]
ResultT = TypeVar("ResultT")
KeyT = TypeVar("KeyT")
Columns = TypeVarTuple("Columns")
KEYS_PER_STATEMENT: Final = 500


def in_transaction(engine: sa.Engine, work: Callable[[sa.Connection], ResultT]) -> ResultT:
    """Run `work` in a transaction, again if it loses against other writers."""

    def attempt() -> ResultT:
        with engine.begin() as connection:
            return work(connection)

    return retry_contended(attempt)


def write(engine: sa.Engine, statement: sa.Update | sa.Delete) -> int:
    """Run one statement by `in_transaction`; return how many rows it changed."""
    return in_transaction(engine, lambda connection: connection.execute(statement).rowcount)


def fetch(engine: sa.Engine, statement: sa.Select[*Columns]) -> Sequence[sa.Row[*Columns]]:
    """Return all rows of one statement."""
    with engine.connect() as connection:
        return connection.execute(statement).all()


def fetch_value(engine: sa.Engine, statement: sa.Select[Any]) -> Any:
    """Return the first value of the first row of one statement, None without a row."""
    with engine.connect() as connection:
        return connection.execute(statement).scalar()


@contextmanager
def one_moment(engine: sa.Engine) -> Iterator[sa.Connection]:
    """Connect so that all statements see the same state of the database."""
    with engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN")
        else:
            connection.execution_options(isolation_level="REPEATABLE READ")
        yield connection


def insert_new(connection: sa.Connection, table: sa.Table, rows: Rows) -> int:
    """Insert the rows that the table does not have; return their number."""
    return connection.execute(_inserting_new(connection.dialect.name, table), rows).rowcount


@cache  # building a statement takes longer than running it
def _inserting_new(dialect: str, table: sa.Table) -> sa.Insert:
    # Without the option, SQLAlchemy reports -1 for an INSERT on PostgreSQL.
    statement = dialect_insert(dialect, table).on_conflict_do_nothing()
    return statement.execution_options(preserve_rowcount=True)


def upsert(
    connection: sa.Connection,
    table: sa.Table,
    rows: Rows,
    *,
    changed: Mapping[str, Any] | None = None,
    only_if: sa.ColumnElement[bool] | None = None,
) -> int:
    """Insert rows, see `upserting`; return how many were written."""
    return connection.execute(upserting(connection, table, changed, only_if), rows).rowcount


def put(
    engine: sa.Engine,
    table: sa.Table,
    rows: Rows,
    *,
    changed: Mapping[str, Any] | None = None,
    only_if: sa.ColumnElement[bool] | None = None,
) -> int:
    """Run `upsert` by `in_transaction`."""
    return in_transaction(
        engine, lambda one: upsert(one, table, rows, changed=changed, only_if=only_if)
    )


def upserting(
    connection: sa.Connection,
    table: sa.Table,
    changed: Mapping[str, Any] | None = None,
    only_if: sa.ColumnElement[bool] | None = None,
) -> sa.Insert:
    """Return an INSERT that writes `changed`, by default all columns, over a row of the same key,
    if `only_if` holds. Both may use the values of the new row: `excluded`.
    """
    new = excluded(table)
    statement = dialect_insert(connection.dialect.name, table).on_conflict_do_update(
        index_elements=list(table.primary_key),
        set_=changed or {c.key: new[c.key] for c in table.columns if not c.primary_key},
        where=only_if,
    )
    return statement.execution_options(preserve_rowcount=True)


def excluded(table: sa.Table) -> ReadOnlyColumnCollection[str, Any]:
    """Return the columns of the new row in the conditions and values of an `upsert`."""
    return table.alias("excluded").c


def chunks(keys: Iterable[KeyT]) -> Iterator[list[KeyT]]:
    """Split keys into lists for one statement each."""
    rest = iter(keys)
    while chunk := list(islice(rest, KEYS_PER_STATEMENT)):
        yield chunk
