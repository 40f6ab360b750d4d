"""Memory, outbox and response cache, as the first release created them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    op.create_table(
        "memory",
        sa.Column("query_id", sa.Text, primary_key=True),
        sa.Column("defense", sa.Text, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("as_of_ms", sa.BigInteger, nullable=False),
        sa.Column("log_epoch", sa.Text, nullable=False),
        sa.Column("log_partition", sa.Integer, nullable=False),
        sa.Column("log_offset", sa.BigInteger, nullable=False),
        sa.Column("state", sa.LargeBinary, nullable=False),
        sa.Column("log_high_offset", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "outbox",
        sa.Column("seq", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
        sa.Column("topic", sa.Text, nullable=False),
        sa.Column("event_id", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("envelope", sa.Text, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
        sa.UniqueConstraint("topic", "event_id", name="outbox_event"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "response_cache",
        sa.Column("key", sa.LargeBinary, primary_key=True),
        sa.Column("value", sa.LargeBinary, nullable=False),
        sa.Column("stamp", sa.BigInteger, nullable=False),
    )
    op.create_index("response_cache_stamp", "response_cache", ["stamp"])
