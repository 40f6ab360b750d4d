"""Events know the partition that led to them, so that each worker publishes its own."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Put the events of the first release on lane 0."""
    op.add_column("outbox", sa.Column("lane", sa.Integer, nullable=False, server_default="0"))
