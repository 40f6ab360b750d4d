"""Tables of the state database, the same on SQLite and PostgreSQL.

A change here needs a new file in `migrations/versions`; a test compares the two.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.dialects import postgresql, sqlite

METADATA = MetaData()

MEMORY = Table(
    "memory",
    METADATA,
    Column("query_id", Text, primary_key=True),
    Column("defense", Text, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("as_of_ms", BigInteger, nullable=False),
    Column("log_epoch", Text, nullable=False),
    Column("log_partition", Integer, nullable=False),
    Column("log_offset", BigInteger, nullable=False),
    Column("state", LargeBinary, nullable=False),
    Column("log_high_offset", BigInteger, nullable=False),
)

# AUTOINCREMENT: a sequence number is never given out twice, so that a slow publisher which marks
# what it sent long ago cannot remove a record inserted since.
OUTBOX = Table(
    "outbox",
    METADATA,
    Column("seq", BigInteger().with_variant(Integer, "sqlite"), primary_key=True),
    Column("topic", Text, nullable=False),
    Column("event_id", Text, nullable=False),
    Column("key", Text, nullable=False),
    Column("envelope", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("lane", Integer, nullable=False, server_default="0"),
    UniqueConstraint("topic", "event_id", name="outbox_event"),
    # A worker that asks for its own lanes does not read through the backlog of the others.
    Index("outbox_lane", "lane", "seq"),
    sqlite_autoincrement=True,
)

RESPONSE_CACHE = Table(
    "response_cache",
    METADATA,
    Column("key", LargeBinary, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("stamp", BigInteger, nullable=False),  # grows with every write; smallest = evicted first
    Column("subject", LargeBinary),  # see `subject.py`; null: written before there were subjects
    Index("response_cache_stamp", "stamp"),
    Index("response_cache_subject", "subject"),
)

# `entry` is JSON text that whoever fills the list understands. `next_due_ms` is also the lease
# of whoever fetches the query now (see `watchlist.claim`).
WATCHLIST = Table(
    "watchlist",
    METADATA,
    Column("query_id", Text, primary_key=True),
    Column("entry", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("last_fetched_ms", BigInteger),
    Column("next_due_ms", BigInteger, nullable=False),
)

SEARCH_CREDITS = Table(
    "search_credits",
    METADATA,
    Column("period", Text, primary_key=True),
    Column("used", BigInteger, nullable=False),
)

# Evidence for and against a domain; `verdict` is an operator's word: pardoned, blocked or none.
SOURCE_LEDGER = Table(
    "source_ledger",
    METADATA,
    Column("domain", Text, primary_key=True),
    Column("honest", Double, nullable=False),
    Column("dishonest", Double, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("verdict", Text),
    Column("note", Text),
)


def dialect_insert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that knows ON CONFLICT, in the connection's dialect."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)
