"""Documents as users and other libraries give them."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.library.documents import to_documents
from radarstream.schemas.snapshot import Document


def test_strings_are_ranked_in_their_order() -> None:
    assert to_documents(["one", "two"]) == (Document(1, "one"), Document(2, "two"))


def test_mappings_may_use_the_usual_names() -> None:
    (document,) = to_documents(
        [{"content": "text", "title": "T", "link": "https://a.example", "date": "2024-05-06"}]
    )
    published = datetime(2024, 5, 6, tzinfo=UTC)
    assert document == Document(1, "text", "T", "https://a.example", published)


def test_metadata_of_a_mapping_count_below_its_own_entries() -> None:
    about = {"url": "https://below.example", "title": "below"}
    (document,) = to_documents([{"text": "t", "title": "own", "metadata": about}])
    assert (document.title, document.url) == ("own", "https://below.example")


def test_documents_of_ours_are_ranked_anew() -> None:
    found = to_documents([Document(9, "t", "T", "https://a.example")])
    assert found == (Document(1, "t", "T", "https://a.example"),)


def test_control_characters_are_dropped() -> None:
    assert to_documents(["a\x1b[31mb\ud800"])[0].text == "a[31mb\ufffd"


@pytest.mark.parametrize("date", ["yesterday", 5, None, "", "2024-13-01"])
def test_a_date_that_cannot_be_read_is_no_date(date: object) -> None:
    assert to_documents([{"text": "t", "date": date}])[0].published_at is None


@pytest.mark.parametrize("wrong", ["yesterday", 5, "2024-13-01", date(2024, 5, 6)])
def test_a_date_under_our_own_name_is_read_or_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"document 2: `published_at` .*2024-05-06"):
        to_documents(["one", {"text": "t", "published_at": wrong, "date": "2024-05-06"}])
    (dated,) = to_documents([{"text": "t", "published_at": "", "date": "2024-05-06"}])
    assert dated.published_at == datetime(2024, 5, 6, tzinfo=UTC)


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
