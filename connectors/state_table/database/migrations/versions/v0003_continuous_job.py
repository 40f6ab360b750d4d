"""Watchlist, search credits, source ledger; cached answers know their question."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the tables and indexes; entries cached so far have no subject."""
    op.create_index("outbox_lane", "outbox", ["lane", "seq"])
    op.add_column("response_cache", sa.Column("subject", sa.LargeBinary))
    op.create_index("response_cache_subject", "response_cache", ["subject"])
    op.create_table(
        "watchlist",
        sa.Column("query_id", sa.Text, primary_key=True),
        sa.Column("entry", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
        sa.Column("last_fetched_ms", sa.BigInteger),
        sa.Column("next_due_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "search_credits",
        sa.Column("period", sa.Text, primary_key=True),
        sa.Column("used", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "source_ledger",
        sa.Column("domain", sa.Text, primary_key=True),
        sa.Column("honest", sa.Double, nullable=False),
        sa.Column("dishonest", sa.Double, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
        sa.Column("verdict", sa.Text),
        sa.Column("note", sa.Text),
    )
