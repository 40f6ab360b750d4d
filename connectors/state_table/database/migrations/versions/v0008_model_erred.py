"""A person's third verdict on a report, and which half of the budget paid for an attribution."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add two columns to the origins."""
    for name in ("model_erred", "reserved"):
        op.add_column(
            "origins", sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false())
        )
