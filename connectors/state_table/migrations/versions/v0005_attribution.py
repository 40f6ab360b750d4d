"""Reports of wrong answers, attributions and quarantine."""

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the tables."""
