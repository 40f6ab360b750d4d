"""What the source ledger knows of an event."""

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the tables."""
