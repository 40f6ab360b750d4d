"""Text of documents of every kind, and the reason where there is none."""

from collections.abc import Iterator

import pytest

from radarstream.connectors.webpages.extraction import unwrapped
from radarstream.connectors.webpages.media import SUFFIXES, Kind, kind_of, paged
from radarstream.connectors.webpages.options import PageError, PageOptions, Raw
from radarstream.connectors.webpages.reading import text_of
from radarstream.connectors.webpages.sandbox import Sandbox
from tests.documents import DOCX_TYPE, UNREADABLE, docx, pdf


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    with Sandbox(PageOptions(parse_bytes=2**28)) as running:
        yield running


def test_each_kind_is_recognised_and_read(box: Sandbox) -> None:
    for data, declared, kind, text in [
        (b"Lima.", "", Kind.TEXT, "Lima."),
        (
            b"\xef\xbb\xbf# Peru\n\n**[Lima](x)**\n\n    code", "text/markdown", Kind.MARKDOWN,
            "Peru\nLima\ncode",
        ),
        (b"a|b\n-|-\nLima|Cusco", "text/markdown", Kind.MARKDOWN, "a\nb\nLima\nCusco"),
        ("Zürich".encode("cp1252"), "text/plain", Kind.TEXT, "Zürich"),
        ("Zürich".encode("utf-16"), "", Kind.TEXT, "Zürich"),
        (b"<html>no page</html>", "text/plain", Kind.TEXT, "<html>no page</html>"),
        (b"one\x0ctwo", "text/plain", Kind.TEXT, "one\ftwo"),
        (b"<!---->" * 100, "", Kind.TEXT, "<!---->" * 100),  # in no time, although it is no page
        (b"<!-- x -->\n<!----><p>Lima.", "", Kind.TEXT, "<!-- x -->\n<!----><p>Lima."),
        (b"<!-- > -->\n<html><article><p>Lima.", "", Kind.HTML, "Lima."),
        (b"<!-- x --><p>Lima.", "text/html", Kind.HTML, "Lima."),
        (b" <!DOCTYPE html><body><p>Lima.</p></body>", "", Kind.HTML, "Lima."),
        (pdf("Lima.", "", "Quito."), "", Kind.PDF, "Lima.\f\fQuito.\f"),
        (b"junk\n" + pdf("Lima."), "application/pdf", Kind.PDF, "Lima.\f"),
        (pdf("Lima.", password=""), "text/html", Kind.PDF, "Lima.\f"),  # no password to open it
        (docx("Lima.", "Quito."), DOCX_TYPE, Kind.DOCX, "Lima.\n\nQuito."),
    ]:  # fmt: skip
        raw = Raw(data, declared)
        assert kind_of(raw) is kind
        assert text_of(raw, box) == text


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_has_a_reason(box: Sandbox, name: str) -> None:
    data, suffix, why = UNREADABLE[name]
    with pytest.raises(PageError) as caught:
        text_of(Raw(data, SUFFIXES.get(suffix, "image/png")), box)
    assert str(caught.value) == why


def test_what_takes_too_much_is_given_up() -> None:
    for data, limits, whys in [
        (pdf("x) Tj (" * 2**20), {"parse_seconds": 1, "parse_bytes": 2**30}, {"parse_time"}),
        (docx(*["x"] * 2**17), {"parse_bytes": 2**25}, {"parse_memory", "parse_crash"}),
    ]:
        with Sandbox(PageOptions(**limits)) as running:
            with pytest.raises(PageError) as caught:
                text_of(Raw(data), running)
            assert str(caught.value) in whys
            assert text_of(Raw(pdf("Lima.")), running) == "Lima.\f"


def test_pages_and_paragraphs() -> None:
    text, pages = paged("Lima.\f\fQuito.\f")
    assert (text, pages) == ("Lima.\n\nQuito.", (0, 6, 7))
    assert paged("One.\f") == ("One.", (0,))
    page = "Minutes\nThe mayor of Example-\nton is Ann Lee, who\nwon.\n\nBob Ray is our clerk."
    joined = "Minutes\nThe mayor of Exampleton is Ann Lee, who won.\n\nBob Ray is our clerk."
    assert unwrapped(page) == joined
    assert (
        unwrapped("古橋市の市長は田中\n花子です。古橋市の")
        == "古橋市の市長は田中花子です。古橋市の"
    )
