"""The page of a quote."""

import pytest

from radarstream.pipelines.round.paging import page_of
from radarstream.schemas.snapshot import Document

TEXT = "Minutes of May.\nAnn Lee is mayor.\nBob Ray is clerk."
PAPER = Document(1, TEXT, "Paper", pages=(0, 16, 34))


@pytest.mark.parametrize(
    ("read", "said", "page"),
    [
        (TEXT, "Minutes", 1),
        (TEXT, "Ann Lee", 2),
        (TEXT, "Bob Ray", 3),
        (TEXT, "Paper", None),  # the title is on no page
        ("May. … Bob Ray is clerk.", "Bob Ray", 3),
        ("Minutes of May. … Ann Lee is mayor.\nBob Ray", "Bob Ray", 3),
        ("Ann Lee is mayor. … clerk.", "Ann Lee", 2),
        ("words that are not there", "words", None),
    ],
)
def test_a_quote_of_what_was_read_is_found_in_the_whole(
    read: str, said: str, page: int | None
) -> None:
    as_read = Document(1, read, "Paper")
    start = as_read.passage.index(said)
    assert page_of(PAPER, as_read, (start, start + len(said))) == page
