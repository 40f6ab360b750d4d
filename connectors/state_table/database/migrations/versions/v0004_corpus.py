"""Documents seen: the corpus."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the tables of texts, of the queries they were found for, of vectors and of counters."""
    op.create_table(
        "corpus_texts",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text),
        sa.Column("own", sa.Boolean, nullable=False),
        sa.Column("first_seen_ms", sa.BigInteger, nullable=False),
        sa.Column("last_seen_ms", sa.BigInteger, nullable=False),
        sa.Column("published_ms", sa.BigInteger),
        sa.Column("url", sa.LargeBinary, nullable=False),
        sa.Column("title", sa.LargeBinary, nullable=False),
        sa.Column("text", sa.LargeBinary, nullable=False),
    )
    op.create_index("corpus_texts_name", "corpus_texts", ["name"])
    op.create_index("corpus_texts_seen", "corpus_texts", ["own", "last_seen_ms", "id"])
    op.create_table(
        "corpus_queries",
        sa.Column("text_id", sa.Text, primary_key=True),
        sa.Column("query_id", sa.Text, primary_key=True),
        sa.Column("last_seen_ms", sa.BigInteger, nullable=False),
    )
    op.create_index("corpus_queries_query", "corpus_queries", ["query_id"])
    op.create_table(
        "corpus_vectors",
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("text_id", sa.Text, nullable=False, unique=True),
        sa.Column("vector", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "corpus_state",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("deletions", sa.BigInteger, nullable=False),
        sa.Column("model", sa.Text),
    )
