"""Documents seen: the corpus."""

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the tables."""
