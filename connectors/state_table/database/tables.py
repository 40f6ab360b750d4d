"""Tables of the state database, on SQLite and PostgreSQL.

Until the first release, changes stay in schema version 1, and databases are created again.
"""

from typing import TYPE_CHECKING

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

METADATA = sa.MetaData()
NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")  # assigned by the database


class Bytes(sa.LargeBinary):
    """Bytes without SQLAlchemy's wrapper, which neither driver needs."""

    cache_ok = True

    def bind_processor(self, _: sa.Dialect) -> None:
        """Return None: values are not processed."""


MEMORY = sa.Table(
    "memory",
    METADATA,
    sa.Column("query_id", sa.Text, primary_key=True),
    sa.Column("defense", sa.Text, nullable=False),
    sa.Column("step", sa.BigInteger, nullable=False),
    sa.Column("as_of_ms", sa.BigInteger, nullable=False),
    sa.Column("log_epoch", sa.Text, nullable=False),
    sa.Column("log_partition", sa.Integer, nullable=False),
    sa.Column("log_offset", sa.BigInteger, nullable=False),
    sa.Column("state", Bytes, nullable=False),
    sa.Column("log_high_offset", sa.BigInteger, nullable=False),
)

# AUTOINCREMENT never assigns a number twice, so that a slow publisher cannot delete a newer record.
OUTBOX = sa.Table(
    "outbox",
    METADATA,
    sa.Column("seq", NUMBER, primary_key=True),
    sa.Column("topic", sa.Text, nullable=False),
    sa.Column("event_id", sa.Text, nullable=False),
    sa.Column("key", sa.Text, nullable=False),
    sa.Column("envelope", sa.Text, nullable=False),
    sa.Column("data", Bytes, nullable=False),
    sa.Column("lane", sa.Integer, nullable=False),
    sa.UniqueConstraint("topic", "event_id", name="outbox_event"),
    # A worker reads its own lanes without the backlog of others.
    sa.Index("outbox_lane", "lane", "seq"),
    sqlite_autoincrement=True,
)

RESPONSE_CACHE = sa.Table(
    "response_cache",
    METADATA,
    sa.Column("key", Bytes, primary_key=True),
    sa.Column("value", Bytes, nullable=False),
    sa.Column("stamp", sa.BigInteger, nullable=False),  # grows; the smallest is evicted first
    sa.Column("subject", Bytes, nullable=False),  # see `subject.py`
    sa.Index("response_cache_stamp", "stamp"),
    sa.Index("response_cache_subject", "subject"),
)

# `entry` is JSON of the collector. `next_due_ms` is also the lease of the collector that fetches
# the query now (see `watchlist.claim`).
WATCHLIST = sa.Table(
    "watchlist",
    METADATA,
    sa.Column("query_id", sa.Text, primary_key=True),
    sa.Column("entry", sa.Text, nullable=False),
    sa.Column("position", sa.Integer, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("updated_ms", sa.BigInteger, nullable=False),
    sa.Column("last_fetched_ms", sa.BigInteger),
    sa.Column("next_due_ms", sa.BigInteger, nullable=False),
)

SEARCH_CREDITS = sa.Table(
    "search_credits",
    METADATA,
    sa.Column("period", sa.Text, primary_key=True),
    sa.Column("used", sa.BigInteger, nullable=False),
)

# A person's verdicts about sites; a revoked verdict is null, so that the import of an older file
# does not restore it.
SOURCE_VERDICTS = sa.Table(
    "source_verdicts",
    METADATA,
    sa.Column("domain", sa.Text, primary_key=True),
    sa.Column("verdict", sa.Text),
    sa.Column("note", sa.Text),
    sa.Column("decided_ms", sa.BigInteger, nullable=False),
)

# Texts of the corpus. `id` is the document's `content_id`, so that a row's content never changes;
# `name` is a user's id for it. A user added `own` texts; queries found the others. Bytes are UTF-8
# with surrogates, because pages may have characters that text columns refuse.
CORPUS_TEXTS = sa.Table(
    "corpus_texts",
    METADATA,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("name", sa.Text),
    sa.Column("own", sa.Boolean, nullable=False),
    sa.Column("first_seen_ms", sa.BigInteger, nullable=False),
    sa.Column("last_seen_ms", sa.BigInteger, nullable=False),
    sa.Column("published_ms", sa.BigInteger),
    sa.Column("url", Bytes, nullable=False),
    sa.Column("title", Bytes, nullable=False),
    sa.Column("text", Bytes, nullable=False),
    sa.Index("corpus_texts_name", "name"),
    sa.Index("corpus_texts_seen", "own", "last_seen_ms", "id"),
)

# The last queries that found a text.
CORPUS_QUERIES = sa.Table(
    "corpus_queries",
    METADATA,
    sa.Column("text_id", sa.Text, primary_key=True),
    sa.Column("query_id", sa.Text, primary_key=True),
    sa.Column("last_seen_ms", sa.BigInteger, nullable=False),
    sa.Index("corpus_queries_query", "query_id"),
)

# Little-endian float32 of unit length, empty if the model cannot embed the text. `seq` grows in the
# order of commits, for readers of changes; see `connectors/corpus/nearest.py`.
CORPUS_VECTORS = sa.Table(
    "corpus_vectors",
    METADATA,
    sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("text_id", sa.Text, nullable=False, unique=True),
    sa.Column("vector", Bytes, nullable=False),
)

# One row: the counters by which readers notice changes, and the model of the vectors.
CORPUS_STATE = sa.Table(
    "corpus_state",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("deletions", sa.BigInteger, nullable=False),
    sa.Column("model", sa.Text),
)

# The last answers of each query with their snapshots, for complaints. `snapshot` is the JSON of a
# search snapshot without withheld documents.
KEPT_ANSWERS = sa.Table(
    "kept_answers",
    METADATA,
    sa.Column("query_id", sa.Text, primary_key=True),
    sa.Column("step", sa.BigInteger, primary_key=True),
    sa.Column("subject", Bytes, nullable=False),  # of the question, see `subject.py`
    sa.Column("observed_ms", sa.BigInteger, nullable=False),
    sa.Column("answer", sa.Text, nullable=False),
    sa.Column("undefended", sa.Text),
    sa.Column("snapshot", Bytes, nullable=False),
    sa.Index("kept_answers_subject", "subject"),
)

# Complaints about answers. `incident` identifies query, step and answer.
COMPLAINTS = sa.Table(
    "complaints",
    METADATA,
    sa.Column("complaint_id", sa.Text, primary_key=True),
    sa.Column("incident", sa.Text, nullable=False),
    sa.Column("query_id", sa.Text, nullable=False),
    sa.Column("step", sa.BigInteger, nullable=False),
    sa.Column("answer", sa.Text, nullable=False),
    sa.Column("sender", sa.Text, nullable=False),
    sa.Column("sent_ms", sa.BigInteger, nullable=False),
    sa.Column("received_ms", sa.BigInteger, nullable=False),  # by our clock, for rate limits
    sa.Column("comment", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("attempts", sa.Integer, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Index("complaints_state", "state", "received_ms"),
    sa.Index("complaints_incident", "incident"),
    sa.Index("complaints_query", "query_id"),
    sa.Index("complaints_sender", "sender", "received_ms"),
)

# Wrong answers that were attributed or decided. `event` is the last published event, `revision` its
# number. `decision` is a person's, made at `decided_ms`; the trust of senders depends on it.
# `reserved`: the half of the budget for trusted senders paid the attribution.
INCIDENTS = sa.Table(
    "incidents",
    METADATA,
    sa.Column("incident", sa.Text, primary_key=True),
    sa.Column("query_id", sa.Text, nullable=False),
    sa.Column("step", sa.BigInteger, nullable=False),
    sa.Column("revision", sa.BigInteger, nullable=False),
    sa.Column("status", sa.Text),  # null: not attributed yet
    sa.Column("finding", sa.Text),
    sa.Column("decision", sa.Text),
    sa.Column("decided_ms", sa.BigInteger),
    sa.Column("everywhere", sa.Boolean, nullable=False),  # approved for all queries
    sa.Column("attributed_ms", sa.BigInteger),
    sa.Column("model_calls", sa.BigInteger, nullable=False),
    sa.Column("event", Bytes),
    sa.Column("reserved", sa.Boolean, nullable=False),
    sa.Index("incidents_query", "query_id"),
    sa.Index("incidents_time", "attributed_ms"),
)

# Texts that taught the wrong answer of an incident. `active` ones are left out of snapshots of
# their query, or of all queries if `everywhere`. `text_key` identifies the words, at any address.
QUARANTINE = sa.Table(
    "quarantine",
    METADATA,
    sa.Column("incident", sa.Text, primary_key=True),
    sa.Column("text_key", sa.Text, primary_key=True),
    sa.Column("query_id", sa.Text, nullable=False),
    sa.Column("content_id", sa.Text, nullable=False),
    sa.Column("active", sa.Boolean, nullable=False),
    sa.Column("everywhere", sa.Boolean, nullable=False),
    sa.Column("released", sa.Boolean, nullable=False),  # by a person, for good
    sa.Column("url", sa.Text, nullable=False),
    sa.Column("title", sa.Text, nullable=False),
    sa.Column("excerpt", sa.Text, nullable=False),
    sa.Column("updated_ms", sa.BigInteger, nullable=False),
    sa.Index("quarantine_query", "query_id", "active"),
    sa.Index("quarantine_everywhere", "everywhere", "active"),
)

# The offsets of a consumer group, written before it commits them to the broker. If the broker has
# more, this database is empty, an older copy, or another one.
CONSUMER_OFFSETS = sa.Table(
    "consumer_offsets",
    METADATA,
    sa.Column("group_id", sa.Text, primary_key=True),
    sa.Column("log_epoch", sa.Text, primary_key=True),
    sa.Column("log_partition", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("next_offset", sa.BigInteger, nullable=False),
)

# The consumer groups that answered from this database. The random `mark` identifies the database.
CONSUMER_GROUPS = sa.Table(
    "consumer_groups",
    METADATA,
    sa.Column("group_id", sa.Text, primary_key=True),
    sa.Column("mark", sa.Text, nullable=False),
    sa.Column("since_ms", sa.BigInteger, nullable=False),
)

# The service's users. `token_hash` is the SHA-256 of a random token. `roles` are words separated by
# blanks. `changed_ms` is the time of the last change of the row.
USERS = sa.Table(
    "users",
    METADATA,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("token_hash", Bytes, nullable=False, unique=True),
    sa.Column("roles", sa.Text, nullable=False),
    sa.Column("created_ms", sa.BigInteger, nullable=False),
    sa.Column("revoked_ms", sa.BigInteger),
    sa.Column("changed_ms", sa.BigInteger, nullable=False),
)

# Sessions of the console; a new token ends them.
SESSIONS = sa.Table(
    "sessions",
    METADATA,
    sa.Column("id_hash", Bytes, primary_key=True),
    sa.Column("user_name", sa.Text, nullable=False),
    sa.Column("expires_ms", sa.BigInteger, nullable=False),
    sa.Index("sessions_user", "user_name"),
)

# `gains` is JSON: the gains of the last hour, see `schemas/users.py`.
USER_TRUST = sa.Table(
    "user_trust",
    METADATA,
    sa.Column("user_name", sa.Text, primary_key=True),
    sa.Column("trust", sa.Double, nullable=False),
    sa.Column("gains", sa.Text, nullable=False),
    sa.Column("updated_ms", sa.BigInteger, nullable=False),
)

# The last questions of a user.
USER_QUESTIONS = sa.Table(
    "user_questions",
    METADATA,
    sa.Column("seq", NUMBER, primary_key=True),
    sa.Column("user_name", sa.Text, nullable=False),
    sa.Column("asked_ms", sa.BigInteger, nullable=False),
    sa.Column("question", sa.Text, nullable=False),
    sa.Index("user_questions_user", "user_name", "asked_ms", "seq"),
    sqlite_autoincrement=True,
)

# The epsilon that a user has spent on a corpus; it only grows.
EPSILON_SPENDING = sa.Table(
    "epsilon_spending",
    METADATA,
    sa.Column("user_name", sa.Text, primary_key=True),
    sa.Column("corpus", sa.Text, primary_key=True),
    sa.Column("epsilon", sa.Double, nullable=False),
)

# The actions of users. Rows are only added; forgetting removes names of users and words of queries.
ACTION_LOG = sa.Table(
    "action_log",
    METADATA,
    sa.Column("seq", NUMBER, primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("user_name", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Index("action_log_user", "user_name", "seq"),
    sqlite_autoincrement=True,
)

# The last answer events of a query, as on the wire. `words` are question and answer in lower case,
# for searches. `changed` is that of the event.
KEPT_EVENTS = sa.Table(
    "kept_events",
    METADATA,
    sa.Column("seq", NUMBER, primary_key=True),
    sa.Column("query_id", sa.Text, nullable=False),
    sa.Column("step", sa.BigInteger, nullable=False),
    sa.Column("observed_ms", sa.BigInteger, nullable=False),
    sa.Column("changed", sa.Boolean),
    sa.Column("words", sa.Text, nullable=False),
    sa.Column("event", Bytes, nullable=False),
    sa.UniqueConstraint("query_id", "step", name="kept_events_step"),
    sa.Index("kept_events_time", "observed_ms"),
    sqlite_autoincrement=True,
)


def dialect_insert(dialect: str, table: sa.Table) -> "sqlite.Insert | postgresql.Insert":
    """Return an INSERT with support for ON CONFLICT, in a dialect."""
    if dialect == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
