"""All tables. Nothing was released yet, so this version is what the code says."""

from alembic import op

from radarstream.connectors.state_table.database.service_tables import METADATA

revision = "1"
down_revision = None


def upgrade() -> None:
    """Create the tables."""
    METADATA.create_all(op.get_bind(), checkfirst=False)
