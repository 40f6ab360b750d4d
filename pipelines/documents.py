"""Reads the documents that come with a question: bytes, files, folders, addresses."""

import logging
import os
import stat
from asyncio import run
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, NoReturn

from radarstream.connectors.closing import Closing
from radarstream.connectors.corpus.jsonl import BadLine, read_corpus
from radarstream.connectors.webpages.media import SUFFIXES, paged
from radarstream.connectors.webpages.options import PageError, PageOptions, Raw
from radarstream.connectors.webpages.sandbox import Sandbox
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import DocumentError
from radarstream.schemas.records import Limits
from radarstream.schemas.snapshot import Document

if TYPE_CHECKING:
    from radarstream.connectors.webpages.fetching import Address

JSON_LINES: Final = (".jsonl", ".jsonl.gz")
TOO_LARGE: Final = "size"
LATE: Final = "time"
# Why a document was not read, by the word of its PageError.
WHY: Final = {
    "scheme": "it is not an address of a web page, which begins with https:// or http://",
    "name": "its host is unknown",
    "address": "it is an address of an inner network (documents.inner_networks)",
    "redirects": "it is redirected too often",
    "status": "its server has no such page, or refuses it",
    "content_type": "it is neither text, Markdown, HTML, PDF nor DOCX",
    "media_type": "it is neither text, Markdown, HTML, PDF nor DOCX, or not of its declared type",
    TOO_LARGE: "it is too large (documents.most_bytes)",
    "text_size": "its text is too long (limits.document_bytes)",
    LATE: "it did not arrive in time",
    "network": "its server cannot be reached, or the connection broke",
    "pipe": "it is neither a file nor a folder; - is standard input",
    "encrypted": "it is encrypted: save it without a password first",
    "scanned": "the PDF is a scan without text: recognise its text first",
    "no_text": "it has no text",
    "damaged": "it is damaged, or made to break its reader",
    "bomb": "it is far too large when unpacked",
    "parse_time": "reading it takes too long (documents.parse_seconds)",
    "parse_memory": "reading it takes too much memory (documents.parse_bytes)",
    "parse_crash": "its reader crashed",
}
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Given:
    """A document to read: bytes, a file or a web page. Reading raises DocumentError.

    Parameters
    ----------
    data, media_type
        Bytes, and their media type, for example application/pdf; "" lets the reader recognise it.
    path
        A file, instead of `data`.
    url
        The address of `data`; without `data` and `path`, the page to fetch.
    title, published_at
        Title and date of the document.
    name
        Its name in errors; by default the address or its rank.

    >>> from radarstream import Given, Guard
    >>> with Guard(profile="scripted") as guard:
    ...     page = Given(data=b"Lima is the capital.", media_type="text/plain")
    ...     guard.answer("What is the capital?", [page, "Lima is its capital."]).text
    'Lima'
    """

    data: bytes | None = field(default=None, repr=False)
    media_type: str = ""
    title: str = ""
    url: str = ""
    published_at: datetime | None = None
    path: Path | None = None
    name: str = ""

    @property
    def is_address(self) -> bool:
        """Whether it has to be fetched."""
        return self.data is None and self.path is None


def in_path(
    path: Path, limits: Limits, tell: Callable[[str], None] = logger.warning
) -> list[Document | Given]:
    """List the documents at a path: one per line of JSON lines, one per file of a folder, else one.

    The files of a folder come by name, before its folders; hidden files and folders, links and
    other kinds of files are skipped, and reported to `tell`. Raises DocumentError for a folder
    without documents and for pipes, which may never end, InputError for too many documents.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise unread_because(str(path), error) from error
    if stat.S_ISREG(mode):
        return list(_in_file(path, limits, tell))
    if not stat.S_ISDIR(mode):
        raise unread_because(str(path), PageError("pipe"))
    found: list[Document | Given] = []
    passed_over = 0
    for file in _listed(path):
        if file.name.lower().endswith((*SUFFIXES, *JSON_LINES)):
            found += _in_file(file, limits, tell)
            limits.check_count(len(found))
        else:
            passed_over += 1
    if passed_over:
        files = "file of another kind was" if passed_over == 1 else "files of other kinds were"
        tell(f"{path}: {passed_over} {files} passed over")
    if not found:
        raise DocumentError(str(path), "no_text", "there is no document in it")
    return found


def _listed(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder by name, then those of its folders, without links and hidden
    ones. Raises DocumentError if a folder cannot be opened.
    """

    def fail(error: OSError) -> NoReturn:
        raise unread_because(str(error.filename or folder), error) from error

    for place, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in (Path(place, name) for name in sorted(files) if not name.startswith(".")):
            if file.is_file() and not file.is_symlink():
                yield file


def _in_file(path: Path, limits: Limits, tell: Callable[[str], None]) -> Iterator[Document | Given]:
    if not path.name.lower().endswith(JSON_LINES):
        yield Given(path=path, title=path.name, name=str(path))
        return
    for line in read_corpus(path, limits):
        if isinstance(line, BadLine):
            tell(f"{path}, line {line.number}: {line.reason}")
        else:
            yield line.document


class DocumentReader(Closing):
    """Reads documents within the limits of the settings. Not thread-safe."""

    def __init__(self, settings: Settings) -> None:
        chosen, self._limits = settings.documents, settings.limits
        self._networks = chosen.inner_networks
        self._options = PageOptions(
            page_bytes=chosen.most_bytes,
            text_bytes=self._limits.document_bytes + 1,
            parse_seconds=chosen.parse_seconds,
            parse_bytes=chosen.parse_bytes,
        )
        self._sandbox = Sandbox(self._options)

    def read(self, given: Sequence[Document | Given], until: float = inf) -> tuple[Document, ...]:
        """Read the documents, with ranks from 1, within the monotonic time `until`.

        Raises DocumentError for the first that cannot be read, ConfigurationError if an extractor
        is not installed.
        """
        unread = [one for one in given if isinstance(one, Given)]
        fetched = self._fetched([one.url for one in unread if one.is_address], until)
        read = []
        for rank, one in enumerate(given, 1):
            name = (one.name if isinstance(one, Given) else "") or one.url or f"document {rank}"
            try:
                document = one if isinstance(one, Document) else self._read(one, fetched, until)
            except (PageError, OSError) as error:
                raise unread_because(name, error) from None
            check_size(document.text, name, self._limits)
            read.append(replace(document, rank=rank))
        return tuple(read)

    def close(self) -> None:
        """End the process that extracts texts."""
        self._sandbox.close()

    def _read(self, given: Given, fetched: Iterator[Raw | BaseException], until: float) -> Document:
        """Read one document. Raises PageError, OSError."""
        from radarstream.connectors.webpages.reading import text_of

        raw = next(fetched) if given.is_address else self._loaded(given)
        if isinstance(raw, BaseException):
            raise raw if isinstance(raw, PageError) else PageError("network")
        if (left := until - monotonic()) <= 0.0:
            raise PageError(LATE)
        text, pages = paged(text_of(raw, self._sandbox, left))
        return Document(1, text, given.title, given.url, given.published_at, pages)

    def _loaded(self, given: Given) -> Raw:
        """Return the bytes of `data` or of a file. Raises PageError, OSError."""
        data, media_type, most = given.data, given.media_type, self._options.page_bytes
        if given.path is not None:
            with given.path.open("rb") as file:
                data = file.read(most + 1)
            media_type = media_type or SUFFIXES.get(given.path.suffix.lower(), "")
        if data is None or len(data) > most:
            raise PageError(TOO_LARGE)
        kind, _, charset = media_type.lower().partition(";")
        return Raw(data, kind.strip(), charset.partition("charset=")[2].strip(' "'))

    def _fetched(self, urls: Sequence[str], until: float) -> Iterator[Raw | BaseException]:
        """Fetch pages; failures are returned as errors."""
        if not urls:
            return iter(())
        from radarstream.connectors.webpages.fetching import CheckedTransport
        from radarstream.connectors.webpages.reading import fetch_all

        transport = CheckedTransport(allow=self._may_fetch)
        fetching = fetch_all(urls, self._options, transport, until - monotonic())
        with ThreadPoolExecutor(1) as thread:  # because the caller's may run an event loop
            return iter(thread.submit(run, fetching).result())

    def _may_fetch(self, address: "Address", port: int) -> bool:
        """Whether the settings allow fetching from an address."""
        from radarstream.connectors.webpages.fetching import is_public

        return is_public(address, port) or any(address in network for network in self._networks)


def check_size(text: str, name: str, limits: Limits) -> None:
    """Raise DocumentError for a text that is too long."""
    if len(text.encode()) > limits.document_bytes:
        raise DocumentError(name, "text_size", WHY["text_size"])


def unread_because(name: str, error: Exception) -> DocumentError:
    """Return the error for a document that cannot be read."""
    if isinstance(error, OSError):
        return DocumentError(name, "file", f"cannot be read: {error.strerror or 'no reason given'}")
    word = str(error) if str(error) in WHY else "parse_crash"
    return DocumentError(name, word, WHY[word])
