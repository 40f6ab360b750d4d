"""The main text of a web page, whatever its bytes are made to do to a reader.

Runs in a process of its own, see `sandbox`: no check here makes the extractor safe by itself.
`python -m` this module, SOCKET, PageOptions as JSON: reads a charset and a page from the socket,
and answers with a mark and the text. The process has no secrets, writes
no files, and may be killed at any time.
"""

import codecs
import resource
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from lxml.etree import LxmlError  # type: ignore[import-untyped]
from trafilatura import extract

from radarstream.connectors.webpages.options import PageOptions
from radarstream.connectors.webpages.sandbox import OVERLOADED, READY, TEXT
from radarstream.schemas.codec.text import capped, clean

# The encodings of the web (Encoding Standard, section 4), as Python names them. Python knows others
# that are no encodings of pages: compression, escapes, and punycode, which takes minutes.
ENCODINGS: Final = frozenset(
    [
        *("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp866", "koi8-r", "koi8-u"),
        *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
        *(f"cp{page}" for page in (874, *range(1250, 1259))),
        *("mac-roman", "mac-cyrillic", "gb18030", "big5", "big5hkscs"),
        *("euc_jp", "iso2022_jp", "cp932", "cp949"),
    ]
)
# What browsers read in place of what a page says, and labels that Python does not know.
READ_AS: Final = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "windows-874": "cp874",
    "windows-31j": "cp932",
    "x-sjis": "cp932",
    "x-mac-cyrillic": "mac-cyrillic",
    "iso-8859-8-i": "iso8859-8",
}


def page_text(page: bytes, charset: str) -> str:
    """Return the main text of a page, without controls; "" when there is none to be found."""
    html = clean(decoded(page, charset))
    try:
        text = extract(html, fast=True, include_comments=False, include_tables=True)
    except (LxmlError, ValueError, TypeError, AttributeError, RecursionError):
        return ""  # the extractor's trees break in these ways on pages made to break them
    return clean(text or "").strip()


def decoded(page: bytes, charset: str) -> str:
    """Decode as a browser would; by a charset that none of them knows, as UTF-8 with U+FFFD."""
    encoding = web_encoding(charset)
    if charset and encoding is None:
        return page.decode("utf-8", errors="replace")
    for candidate in filter(None, (encoding, "utf-8")):
        try:
            return page.decode(candidate)
        except ValueError:  # not of this one
            continue
    return page.decode("cp1252", errors="replace")  # what browsers fall back to


def web_encoding(charset: str) -> str | None:
    """Return Python's name of an encoding of the web, None for any other.

    >>> web_encoding("Latin1"), web_encoding("Shift_JIS"), web_encoding("punycode")
    ('cp1252', 'cp932', None)
    """
    label = charset.strip().lower()
    try:
        name = codecs.lookup(READ_AS.get(label, label)).name
    except (LookupError, ValueError):  # a name with a null byte is a ValueError
        return None
    name = READ_AS.get(name, name)
    return name if name in ENCODINGS else None


def serve(connection: Connection, options: PageOptions) -> None:
    """Answer until the other side closes, or memory ran out: then a fresh process is better."""
    limit_memory(options.parse_bytes)
    connection.send_bytes(READY)
    while True:
        try:
            charset, page = connection.recv_bytes().decode(), connection.recv_bytes()
        except EOFError:
            return
        limit_time(options.parse_seconds)
        try:
            text = capped(page_text(page, charset), options.text_bytes)
        except MemoryError:
            connection.send_bytes(OVERLOADED)
            return
        else:
            connection.send_bytes(TEXT + text.encode())


def limit_memory(most_bytes: int) -> None:
    """Let the process take so much more than it has now; no file, no core dump."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    lower(resource.RLIMIT_AS, pages * resource.getpagesize() + most_bytes)
    lower(resource.RLIMIT_FSIZE, 0)
    lower(resource.RLIMIT_CORE, 0)


def limit_time(seconds: int) -> None:
    """Have the kernel end the process after so many more seconds of processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    lower(resource.RLIMIT_CPU, int(used.ru_utime + used.ru_stime) + 1 + seconds)


def lower(which: int, limit: int) -> None:
    """Set a limit of this process, if it is not lower already."""
    _, hard = resource.getrlimit(which)
    resource.setrlimit(which, (limit if hard < 0 else min(limit, hard), hard))


if __name__ == "__main__":
    serve(Connection(int(sys.argv[1])), PageOptions.model_validate_json(sys.argv[2]))
