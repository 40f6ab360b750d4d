"""Which consumer groups answered from this database."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Add the table; a group is entered when its next worker starts."""
    op.create_table(
        "consumer_groups",
        sa.Column("group_id", sa.Text, primary_key=True),
        sa.Column("mark", sa.Text, nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
    )
