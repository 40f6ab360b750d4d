"""Documents as users and other libraries give them."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.library.documents import to_documents
from radarstream.schemas.snapshot import Document

MAY = datetime(2024, 5, 6, tzinfo=UTC)
NAMED = {"content": "text", "title": "T", "link": "https://a.example", "date": "2024-05-06"}
ABOUT = {"url": "https://below.example", "title": "below"}
OWN = {"text": "t", "title": "own", "metadata": ABOUT}
NO_DATES = ("yesterday", 5, None, "", "2024-13-01")


@pytest.mark.parametrize(
    ("one", "read"),
    [
        ("a\x1b[31mb\ud800", Document(1, "a[31mb\ufffd")),
        (Document(9, "t", "T", "https://a.example"), Document(1, "t", "T", "https://a.example")),
        (NAMED, Document(1, "text", "T", "https://a.example", MAY)),
        # Metadata count below the entries of the mapping itself.
        (OWN, Document(1, "t", "own", "https://below.example")),
        # A date that cannot be read is no date.
        *(({"text": "t", "date": day}, Document(1, "t")) for day in NO_DATES),
    ],
)
def test_a_document_of_each_kind_is_read(one: object, read: Document) -> None:
    assert to_documents([one]) == (read,)


@pytest.mark.parametrize("wrong", ["yesterday", 5, "2024-13-01", date(2024, 5, 6)])
def test_a_date_under_our_own_name_is_read_or_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"document 2: `published_at` .*2024-05-06"):
        to_documents(["one", {"text": "t", "published_at": wrong, "date": "2024-05-06"}])
    (dated,) = to_documents([{"text": "t", "published_at": "", "date": "2024-05-06"}])
    assert dated.published_at == MAY


@pytest.mark.parametrize("wrong", [None, 5, "one text", b"bytes", {"text": "one document"}])
def test_one_document_is_no_list(wrong: object) -> None:
    with pytest.raises(TypeError, match="list"):
        to_documents(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [None, 5, {}, {"text": None}, object(), b"bytes"])
def test_a_document_without_text_is_named(wrong: object) -> None:
    with pytest.raises(TypeError, match=r"document 2 \("):
        to_documents(["fine", wrong])


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["text", "title", "url", "source", "date", "metadata"]),
        st.none() | st.text() | st.integers() | st.dictionaries(st.text(), st.text()),
    )
)
def test_whatever_a_mapping_holds_it_is_read_or_refused(mapping: dict[str, object]) -> None:
    if isinstance(mapping.get("text"), str):
        assert to_documents([mapping])[0].rank == 1
    else:
        with pytest.raises(TypeError):
            to_documents([mapping])
