"""Users of the service, what is known of them and what they did; answers that it shows."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the tables; events are kept from the next fold on."""
    users()
    accounts()
    op.create_table(
        "action_log",
        number(),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("action_log_user", "action_log", ["user_name", "seq"])
    op.create_table(
        "kept_events",
        number(),
        sa.Column("query_id", sa.Text, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("observed_ms", sa.BigInteger, nullable=False),
        sa.Column("changed", sa.Boolean),
        sa.Column("words", sa.Text, nullable=False),
        sa.Column("event", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("query_id", "step", name="kept_events_step"),
        sqlite_autoincrement=True,
    )
    op.create_index("kept_events_time", "kept_events", ["observed_ms"])


def users() -> None:
    """Who may sign in, and who is."""
    op.create_table(
        "users",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("token_hash", sa.LargeBinary, nullable=False, unique=True),
        sa.Column("roles", sa.Text, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("revoked_ms", sa.BigInteger),
        sa.Column("changed_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "sessions",
        sa.Column("id_hash", sa.LargeBinary, primary_key=True),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("expires_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("sessions_user", "sessions", ["user_name"])


def accounts() -> None:
    """What is known of users: trust, recent questions, spent epsilon."""
    op.create_table(
        "user_trust",
        sa.Column("user_name", sa.Text, primary_key=True),
        sa.Column("trust", sa.Double, nullable=False),
        sa.Column("gains", sa.Text, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "user_questions",
        number(),
        sa.Column("user_name", sa.Text, nullable=False),
        sa.Column("asked_ms", sa.BigInteger, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("user_questions_user", "user_questions", ["user_name", "asked_ms", "seq"])
    op.create_table(
        "epsilon_spending",
        sa.Column("user_name", sa.Text, primary_key=True),
        sa.Column("corpus", sa.Text, primary_key=True),
        sa.Column("epsilon", sa.Double, nullable=False),
    )


def number() -> "sa.Column[int]":
    """A number that the database gives out, none twice."""
    kind = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    return sa.Column("seq", kind, primary_key=True)
