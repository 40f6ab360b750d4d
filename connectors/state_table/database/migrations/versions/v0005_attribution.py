"""Reports of wrong answers, their origins and quarantine."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the tables of cases, reports, origins and quarantine."""
    op.create_table(
        "cases",
        sa.Column("query_id", sa.Text, primary_key=True),
        sa.Column("step", sa.BigInteger, primary_key=True),
        sa.Column("subject", sa.LargeBinary, nullable=False),
        sa.Column("observed_ms", sa.BigInteger, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("undefended", sa.Text),
        sa.Column("snapshot", sa.LargeBinary, nullable=False),
    )
    op.create_index("cases_subject", "cases", ["subject"])
    op.create_table(
        "reports",
        sa.Column("report_id", sa.Text, primary_key=True),
        sa.Column("misgeneration", sa.Text, nullable=False),
        sa.Column("query_id", sa.Text, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("answer", sa.Text, nullable=False),
        sa.Column("reporter", sa.Text, nullable=False),
        sa.Column("reported_ms", sa.BigInteger, nullable=False),
        sa.Column("received_ms", sa.BigInteger, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_index("reports_state", "reports", ["state", "received_ms"])
    op.create_index("reports_misgeneration", "reports", ["misgeneration"])
    op.create_index("reports_query", "reports", ["query_id"])
    op.create_index("reports_reporter", "reports", ["reporter", "received_ms"])
    op.create_table(
        "origins",
        sa.Column("misgeneration", sa.Text, primary_key=True),
        sa.Column("query_id", sa.Text, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("decision", sa.Text),
        sa.Column("finding", sa.Text),
        sa.Column("word", sa.Text),
        sa.Column("word_ms", sa.BigInteger),
        sa.Column("everywhere", sa.Boolean, nullable=False),
        sa.Column("attributed_ms", sa.BigInteger),
        sa.Column("model_calls", sa.BigInteger, nullable=False),
        sa.Column("event", sa.LargeBinary),
    )
    op.create_index("origins_query", "origins", ["query_id"])
    op.create_index("origins_time", "origins", ["attributed_ms"])
    op.create_table(
        "quarantine",
        sa.Column("misgeneration", sa.Text, primary_key=True),
        sa.Column("text_key", sa.Text, primary_key=True),
        sa.Column("query_id", sa.Text, nullable=False),
        sa.Column("content_id", sa.Text, nullable=False),
        sa.Column("active", sa.Boolean, nullable=False),
        sa.Column("everywhere", sa.Boolean, nullable=False),
        sa.Column("released", sa.Boolean, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("excerpt", sa.Text, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("quarantine_query", "quarantine", ["query_id", "active"])
    op.create_index("quarantine_everywhere", "quarantine", ["everywhere", "active"])
