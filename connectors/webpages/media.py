"""Recognises kinds of documents by their first bytes, then by their declared media type."""

import re
from enum import StrEnum
from typing import Final

from radarstream.connectors.webpages.decoding import decoded
from radarstream.connectors.webpages.options import PageError, Raw
from radarstream.schemas.codec.text import clean

HEAD: Final = 1_024  # bytes that decide the kind
SAMPLE_BYTES: Final = 64 * 2**10  # bytes that decide whether data is text


class Kind(StrEnum):
    """Kinds of documents that can be read."""

    TEXT = "text"
    MARKDOWN = "markdown"
    HTML = "html"
    PDF = "pdf"
    DOCX = "docx"


DECLARED: Final = {
    "text/html": Kind.HTML,
    "application/xhtml+xml": Kind.HTML,
    "text/markdown": Kind.MARKDOWN,
    "application/pdf": Kind.PDF,
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": Kind.DOCX,
}
UNDECLARED: Final = frozenset({"", "application/octet-stream", "binary/octet-stream"})
SUFFIXES: Final = {  # of files, with their media types
    **dict.fromkeys((".html", ".htm", ".xhtml"), "text/html"),
    **dict.fromkeys((".md", ".markdown"), "text/markdown"),
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    **dict.fromkeys((".txt", ".csv", ".tsv", ".log", ".rst"), "text/plain"),
}
# The library that reads each kind.
LIBRARIES: Final = {
    Kind.MARKDOWN: "markdown_it",
    Kind.HTML: "trafilatura",
    Kind.PDF: "pypdf",
    Kind.DOCX: "mammoth",
}
_HTML: Final = re.compile(
    rb"\s*(<\?xml[^>]*>\s*)?(<!--(?:(?!-->).)*-->\s*)*<(!doctype\s+html|html|head|body)\b",
    re.I | re.S,
)
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")  # byte order marks
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_OLE: Final = b"\xd0\xcf\x11\xe0"  # older office files, and DOCX with a password
_ENCRYPTED: Final = "EncryptedPackage".encode("utf-16-le")
_CONTROLS: Final = bytes(set(range(32)) - set(b"\t\n\r\x0c\x1b"))


def kind_of(raw: Raw) -> Kind:
    """Return the kind of a document; any zip counts as DOCX, whose reader checks it.

    Raises PageError: media_type for a kind that cannot be read, encrypted for an encrypted office
    file.
    """
    data, declared = raw.data, DECLARED.get(raw.media_type)
    head = data[:HEAD].lstrip(b"\xef\xbb\xbf \t\r\n")
    if head.startswith(b"%PDF-") or (declared is Kind.PDF and b"%PDF-" in head):
        return Kind.PDF
    if head.startswith(_ZIP):
        return Kind.DOCX
    if head.startswith(_OLE):
        raise PageError("encrypted" if _ENCRYPTED in data else "media_type")
    textual = raw.media_type.startswith("text/") or raw.media_type in UNDECLARED
    if declared is not Kind.HTML and (not textual or is_binary(data)):
        raise PageError("media_type")
    if declared is None and raw.media_type in UNDECLARED and _HTML.match(head):
        return Kind.HTML
    return declared or Kind.TEXT


def is_binary(data: bytes) -> bool:
    r"""Whether more than 1 % of the bytes are controls that no text has.

    >>> is_binary(b"\x89PNG\r\n\x1a\n\x00\x00"), is_binary(b"Lima\n")
    (True, False)
    """
    part = data[:SAMPLE_BYTES]
    if part.startswith(_UTF_16):
        return False
    return 100 * (len(part) - len(part.translate(None, _CONTROLS))) > len(part)


def plain_text(raw: Raw) -> str:
    """Decode a text file, and remove controls except the form feeds between its pages."""
    marked = "utf-16" if raw.data.startswith(_UTF_16) else ""
    text = decoded(raw.data, raw.charset or marked).removeprefix("\ufeff")
    return "\f".join(clean(page).strip() for page in text.split("\f"))


def paged(text: str) -> tuple[str, tuple[int, ...] | None]:
    r"""Replace form feeds by newlines, and return where each page begins; None without pages.

    >>> paged("One.\fTwo.\f"), paged("One.")
    (('One.\nTwo.', (0, 5)), ('One.', None))
    """
    *ended, rest = text.split("\f")
    pages = [*ended, rest] if rest.strip() else ended
    if not ended:
        return text, None
    starts, place = [], 0
    for page in pages:
        starts.append(place)
        place += len(page) + 1
    return "\n".join(pages), tuple(starts)
