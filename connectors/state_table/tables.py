"""Tables of the state database, the same on SQLite and PostgreSQL."""

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
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
    sqlite_autoincrement=True,
)

RESPONSE_CACHE = Table(
    "response_cache",
    METADATA,
    Column("key", LargeBinary, primary_key=True),
    Column("value", LargeBinary, nullable=False),
    Column("stamp", BigInteger, nullable=False),  # grows with every write; smallest = evicted first
    Index("response_cache_stamp", "stamp"),
)

_CREATION_LOCK = 0x7261646172  # advisory lock number on PostgreSQL; any constant does


def create_tables(engine: Engine) -> None:
    """Create what is missing. Several processes may do so at once; one works, the rest wait."""
    with engine.connect() as connection:
        if connection.dialect.name == "sqlite":
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_CREATION_LOCK})")
        METADATA.create_all(connection)
        connection.commit()


def dialect_insert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that knows ON CONFLICT, in the connection's dialect."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)
