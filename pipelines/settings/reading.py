"""How much of a page is read."""

from pydantic import Field

from radarstream.schemas.section import Section


class ReadingSettings(Section):
    """Which parts of a long page a model reads: the windows that fit the question best.

    Queries that ask for a long answer are read from the start, as far as a prompt has room.
    """

    windows: int = Field(
        default=5,
        ge=0,
        le=100,
        description="most windows of a long page that are read; 0 = pages are read from the start",
    )
    window_characters: int = Field(
        default=220, ge=40, le=2_000, description="most characters of one window"
    )
    whole_characters: int = Field(
        default=1_200,
        ge=0,
        description="characters (title and text) up to which a page is read whole",
    )
    candidates: int = Field(
        default=0,
        ge=0,
        le=200,
        description="windows of a page with the best words that the embedder compares with the "
        "question; 0 = the words alone decide",
    )
