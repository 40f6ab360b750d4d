"""Tables of the service: its users, what they may do and did, and the answers it shows.

They belong to the same database as those of `tables.py`, and to one set of migrations.
"""

import sqlalchemy as sa

from radarstream.connectors.state_table.database.tables import METADATA, Bytes

__all__ = [
    "ACTION_LOG",
    "KEPT_EVENTS",
    "METADATA",
    "EPSILON_SPENDING",
    "SESSIONS",
    "USERS",
    "USER_QUESTIONS",
    "USER_TRUST",
]

# `token_hash` is the SHA-256 of a random token: it says nothing about the token. `roles` are words
# with blanks between them. `changed_ms` is when anything of the row changed last.
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

# Who is signed in to the console. A row goes with its user's token.
SESSIONS = sa.Table(
    "sessions",
    METADATA,
    sa.Column("id_hash", Bytes, primary_key=True),
    sa.Column("user_name", sa.Text, nullable=False),
    sa.Column("expires_ms", sa.BigInteger, nullable=False),
    sa.Index("sessions_user", "user_name"),
)

# `gains` is JSON: what was gained in the last hour, see `schemas/trust.py`.
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
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
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

# Who did what. Rows are only added; who is forgotten loses the name, and a forgotten query its
# words.
ACTION_LOG = sa.Table(
    "action_log",
    METADATA,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("at_ms", sa.BigInteger, nullable=False),
    sa.Column("user_name", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("detail", sa.Text, nullable=False),
    sa.Index("action_log_user", "user_name", "seq"),
    sqlite_autoincrement=True,
)

# The last answer events of a query, as on the wire. `words` are those of question and answer in
# lower case, for a search. `changed` is that of the event: null where it does not say.
KEPT_EVENTS = sa.Table(
    "kept_events",
    METADATA,
    sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
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
