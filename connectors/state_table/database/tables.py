"""Tables of the state database, the same on SQLite and PostgreSQL.

A change here needs a new file in `migrations/versions`; a test compares the two.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Double,
    Index,
    Integer,
    Label,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
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
    Column("revision", BigInteger, nullable=False, server_default="0"),  # grows with every write
)

# What a domain is held to have done: a row per event, and one per day for all agreement of that
# day. `event` is a digest or a day, `weight` what was counted after all caps, before fading.
SOURCE_EVENTS = Table(
    "source_events",
    METADATA,
    Column("domain", Text, primary_key=True),
    Column("event", Text, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("weight", Double, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("query_id", Text),
    Column("step", BigInteger),
    Column("text_id", Text),
    Column("claim", Text),
    Index("source_events_day", "domain", "at_ms"),
    Index("source_events_query", "query_id"),
)

# Documents that questions can be answered from. `id` is the document's `content_id`, so a row's
# content never changes; `name` is a user's own id for it. `own` texts were added by a user, the
# others were found by a query, and go with it or with time. Bytes are UTF-8 with surrogates: a page
# may hold what no text column takes.
CORPUS_TEXTS = Table(
    "corpus_texts",
    METADATA,
    Column("id", Text, primary_key=True),
    Column("name", Text),
    Column("own", Boolean, nullable=False),
    Column("first_seen_ms", BigInteger, nullable=False),
    Column("last_seen_ms", BigInteger, nullable=False),
    Column("published_ms", BigInteger),
    Column("url", LargeBinary, nullable=False),
    Column("title", LargeBinary, nullable=False),
    Column("text", LargeBinary, nullable=False),
    Index("corpus_texts_name", "name"),
    Index("corpus_texts_seen", "own", "last_seen_ms", "id"),
)

# The queries that a text was found for last.
CORPUS_QUERIES = Table(
    "corpus_queries",
    METADATA,
    Column("text_id", Text, primary_key=True),
    Column("query_id", Text, primary_key=True),
    Column("last_seen_ms", BigInteger, nullable=False),
    Index("corpus_queries_query", "query_id"),
)

# Little-endian float32 of unit length; empty: the model cannot embed the text. `seq` grows in the
# order of commits, so that a reader finds what is new; see `corpus_vectors`.
CORPUS_VECTORS = Table(
    "corpus_vectors",
    METADATA,
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("text_id", Text, nullable=False, unique=True),
    Column("vector", LargeBinary, nullable=False),
)

# One row: the counters by which a reader sees that something changed, and whose vectors they are.
CORPUS_STATE = Table(
    "corpus_state",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("seq", BigInteger, nullable=False),
    Column("deletions", BigInteger, nullable=False),
    Column("model", Text),
)

# What an answer was made of, while somebody may complain about it: `snapshot` is the JSON of a
# search snapshot without the documents that were withheld. The last few steps of a query are kept.
KEPT_ANSWERS = Table(
    "cases",
    METADATA,
    Column("query_id", Text, primary_key=True),
    Column("step", BigInteger, primary_key=True),
    Column("subject", LargeBinary, nullable=False),  # of the question, see `subject.py`
    Column("observed_ms", BigInteger, nullable=False),
    Column("answer", Text, nullable=False),
    Column("undefended", Text),
    Column("snapshot", LargeBinary, nullable=False),
    Index("cases_subject", "subject"),
)

# The tables of complaints, incidents and quarantine keep the names that they and their columns had
# in earlier releases; code uses the `key` of a column, exports of the state its name.

# Complaints about answers. `incident` names query, step and answer: what is attributed once.
COMPLAINTS = Table(
    "reports",
    METADATA,
    Column("report_id", Text, key="complaint_id", primary_key=True),
    Column("misgeneration", Text, key="incident", nullable=False),
    Column("query_id", Text, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("answer", Text, nullable=False),
    Column("reporter", Text, key="sender", nullable=False),
    Column("reported_ms", BigInteger, key="sent_ms", nullable=False),
    Column("received_ms", BigInteger, nullable=False),  # by our clock: rate limits go by it
    Column("comment", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("detail", Text, nullable=False),
    Index("reports_state", "state", "received_ms"),
    Index("reports_misgeneration", "incident"),
    Index("reports_query", "query_id"),
    Index("reports_reporter", "sender", "received_ms"),
)

# Wrong answers that were attributed or decided. `event` is the event that was published last,
# `revision` its number. `decision` is a person's, approved or dismissed, made at `decided_ms`. That
# the model erred is stored as dismissed and `model_erred`: a process of an earlier release then
# removes nothing. A sender's trust is counted from here: how many of their complaints a later
# decision confirmed. `reserved`: the attribution was paid from the half of the budget that is kept
# for trusted senders.
INCIDENTS = Table(
    "origins",
    METADATA,
    Column("misgeneration", Text, key="incident", primary_key=True),
    Column("query_id", Text, nullable=False),
    Column("step", BigInteger, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("decision", Text, key="status"),  # null: not attributed yet
    Column("finding", Text),
    Column("word", Text, key="decision"),
    Column("word_ms", BigInteger, key="decided_ms"),
    Column("everywhere", Boolean, nullable=False),  # approved for all queries
    Column("attributed_ms", BigInteger),
    Column("model_calls", BigInteger, nullable=False),
    Column("event", LargeBinary),
    Column("model_erred", Boolean, nullable=False, server_default=false()),
    Column("reserved", Boolean, nullable=False, server_default=false()),
    Index("origins_query", "query_id"),
    Index("origins_time", "attributed_ms"),
)

# Texts that taught the wrong answer of an incident. `active`: they are left out of snapshots of
# their query, or, when `everywhere`, of all queries. `text_key` names the words, wherever they are
# published.
QUARANTINE = Table(
    "quarantine",
    METADATA,
    Column("misgeneration", Text, key="incident", primary_key=True),
    Column("text_key", Text, primary_key=True),
    Column("query_id", Text, nullable=False),
    Column("content_id", Text, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("everywhere", Boolean, nullable=False),
    Column("released", Boolean, nullable=False),  # by a person, for good
    Column("url", Text, nullable=False),
    Column("title", Text, nullable=False),
    Column("excerpt", Text, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Index("quarantine_query", "query_id", "active"),
    Index("quarantine_everywhere", "everywhere", "active"),
)

# The consumer groups that answered from this database: a group that has committed offsets and is
# not here answered from another one. `mark` is random, so that one database is told from the next.
CONSUMER_GROUPS = Table(
    "consumer_groups",
    METADATA,
    Column("group_id", Text, primary_key=True),
    Column("mark", Text, nullable=False),
    Column("since_ms", BigInteger, nullable=False),
)


def keyed(table: Table) -> list[Label[Any]]:
    """Return the columns of a table, named in results by their keys."""
    return [column.label(column.key) for column in table.columns]


def dialect_insert(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """Return an INSERT that knows ON CONFLICT, in the connection's dialect."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)
