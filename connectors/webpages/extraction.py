"""Extracts the text of pages and documents, which may be hostile.

It runs in a process of its own, see `sandbox`, because no check makes an extractor safe. `python -m
radarstream.connectors.webpages.extraction SOCKET OPTIONS` (PageOptions as JSON) reads kind, charset
and bytes from the socket, and answers with a mark and the text, a form feed after each page of a
PDF. The process has no secrets, writes no files, and may be killed at any time.
"""

import re
import resource
import sys
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from io import BytesIO
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final
from zipfile import BadZipFile, ZipFile

from radarstream.connectors.webpages.decoding import decoded
from radarstream.connectors.webpages.media import HEAD, LIBRARIES, Kind, plain_text
from radarstream.connectors.webpages.options import PageError, PageOptions, Raw
from radarstream.connectors.webpages.sandbox import FAILED, OVERLOADED, READY, TEXT
from radarstream.schemas.codec.text import capped, clean

UNPACKED: Final = 64 * 2**20  # most bytes of all parts of an archive
META_CHARSET: Final = re.compile(rb"<meta[^>]+charset=[\"'\s]*([\w.:-]{1,40})", re.I | re.A)
WRAPPED: Final = 0.7  # share of a page's longest line below which a line ends its paragraph
FIRST_WITHOUT_SPACES: Final = "\u2e80"  # the first character of Chinese and Japanese scripts
BODY: Final = "word/document.xml"  # the part that every DOCX has


def page_text(page: bytes, charset: str) -> str:
    """Return the main text of an HTML page, without controls; "" if there is none."""
    from lxml.etree import LxmlError  # type: ignore[import-untyped]
    from trafilatura import extract

    named = META_CHARSET.search(page[:HEAD])
    html = clean(decoded(page, charset or (named[1].decode("ascii") if named else "")))
    try:
        # Without <html>, the extractor takes a page for a fragment, and ignores a fragment of one
        # paragraph. A second <html> changes nothing.
        whole = f"<html>{html}"
        text = extract(whole, fast=True, include_comments=False, include_tables=True)
    except (LxmlError, ValueError, TypeError, AttributeError, RecursionError):
        return ""  # hostile pages cause these errors in the extractor
    return clean(text or "").strip()


def markdown_text(data: bytes, charset: str) -> str:
    """Return the words of a Markdown text, without marks and addresses of links."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(plain_text(Raw(data, "", charset)))
    blocks = (
        "".join(child.content or "\n" * child.type.endswith("break") for child in token.children)
        if token.children
        else token.content
        for token in tokens
    )
    return "\n".join(filter(None, blocks)).strip()


def pdf_text(data: bytes, _: str) -> str:
    """Return the text of a PDF, a form feed after each page.

    Raises PageError: encrypted (unless the password is empty), scanned, bomb.
    """
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import LimitReachedError

    reader = PdfReader(BytesIO(data))
    if reader.is_encrypted and reader.decrypt("") is PasswordType.NOT_DECRYPTED:
        raise PageError("encrypted")
    try:
        pages = [unwrapped(clean(page.extract_text()).strip()) for page in reader.pages]
    except LimitReachedError:
        raise PageError("bomb") from None
    if not any(pages):
        raise PageError("scanned")
    return "".join(f"{page}\f" for page in pages)


def unwrapped(page: str) -> str:
    """Put each paragraph of a page on one line: a line nearly as long as the longest continues in
    the next.
    """
    first, *others = page.split("\n")
    full = WRAPPED * max(map(len, (first, *others)))
    text, before = first, first
    for line in others:
        if len(before) < full or not line:
            text += f"\n{line}"
        elif before.endswith("-") and line[0].islower():
            text = text[:-1] + line
        else:
            text += line if before[-1] >= FIRST_WITHOUT_SPACES else f" {line}"
        before = line
    return text


def docx_text(data: bytes, _: str) -> str:
    """Return the text of a DOCX. Raises PageError: media_type for another zip, bomb."""
    from mammoth import extract_raw_text

    try:
        with ZipFile(BytesIO(data)) as parts:
            sizes = {part.filename: part.file_size for part in parts.infolist()}
    except BadZipFile:
        raise PageError("damaged") from None
    if BODY not in sizes:
        raise PageError("media_type")
    if sum(sizes.values()) > UNPACKED:
        raise PageError("bomb")
    return clean(extract_raw_text(BytesIO(data)).value).strip()


READERS: Final[dict[Kind, Callable[[bytes, str], str]]] = {
    Kind.MARKDOWN: markdown_text,
    Kind.HTML: page_text,
    Kind.PDF: pdf_text,
    Kind.DOCX: docx_text,
}


def reply_to(kind: Kind, charset: str, data: bytes, text_bytes: int) -> bytes:
    """Return the reply for one page or document. Raises MemoryError."""
    try:
        return TEXT + capped(READERS[kind](data, charset), text_bytes).encode()
    except MemoryError:
        raise
    except PageError as error:
        return FAILED + str(error).encode()
    except Exception:  # noqa: BLE001 hostile documents cause any error
        return FAILED + b"damaged"


def serve(connection: Connection, options: PageOptions) -> None:
    """Answer until the other side closes, or the memory is used up."""
    for library in LIBRARIES.values():
        with suppress(ImportError):
            import_module(library)  # before the limits of pages apply
    limit_memory(options.parse_bytes)
    connection.send_bytes(READY)
    while True:
        try:
            kind, charset = (connection.recv_bytes().decode() for _ in range(2))
            data = connection.recv_bytes()
        except EOFError:
            return
        limit_time(options.parse_seconds)
        try:
            reply = reply_to(Kind(kind), charset, data, options.text_bytes)
        except MemoryError:
            connection.send_bytes(OVERLOADED)
            return
        else:
            connection.send_bytes(reply)


def limit_memory(most_bytes: int) -> None:
    """Limit further memory of this process to `most_bytes`; forbid files and core dumps."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    lower(resource.RLIMIT_AS, pages * resource.getpagesize() + most_bytes)
    lower(resource.RLIMIT_FSIZE, 0)
    lower(resource.RLIMIT_CORE, 0)


def limit_time(seconds: int) -> None:
    """Make the kernel end the process after `seconds` more seconds of processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + seconds)


def lower(which: int, limit: int) -> None:
    """Lower a resource limit of this process to `limit`."""
    _, hard = resource.getrlimit(which)
    resource.setrlimit(which, (limit if hard < 0 else min(limit, hard), hard))


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), PageOptions.model_validate_json(sys.argv[2]))
