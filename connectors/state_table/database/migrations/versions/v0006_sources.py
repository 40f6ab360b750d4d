"""What the source ledger knows of an event."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the table of events, and to the ledger how often a row changed."""
    op.add_column(
        "source_ledger",
        sa.Column("revision", sa.BigInteger, nullable=False, server_default="0"),
    )
    op.create_table(
        "source_events",
        sa.Column("domain", sa.Text, primary_key=True),
        sa.Column("event", sa.Text, primary_key=True),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("weight", sa.Double, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("query_id", sa.Text),
        sa.Column("step", sa.BigInteger),
        sa.Column("text_id", sa.Text),
        sa.Column("claim", sa.Text),
    )
    op.create_index("source_events_day", "source_events", ["domain", "at_ms"])
    op.create_index("source_events_query", "source_events", ["query_id"])
