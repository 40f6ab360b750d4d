"""Reads the documents that come with a question: bytes, files, folders, addresses."""

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
from typing import TYPE_CHECKING, Final

from radarstream.connectors.closing import Closing
from radarstream.connectors.corpus.jsonl import BadLine, read_corpus
from radarstream.connectors.webpages.media import SUFFIXES, paged
from radarstream.connectors.webpages.options import PageError, PageOptions, Raw
from radarstream.connectors.webpages.sandbox import Sandbox
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import ConfigurationError, DocumentError
from radarstream.schemas.records import Limits
from radarstream.schemas.snapshot import Document

if TYPE_CHECKING:
    from radarstream.connectors.webpages.fetching import Address

JSON_LINES: Final = (".jsonl", ".jsonl.gz")
# Why a document was not read, by the word of its PageError.
WHY: Final = {
    "scheme": "it is not an address of a web page, which begins with https:// or http://",
    "name": "its host is unknown",
    "address": "it is on an inner network, which commands and programs read only where the setting "
    "documents.inner_networks has it, and the service never",
    "redirects": "it is redirected too often",
    "status": "its server has no such page, or refuses it",
    "content_type": "it is neither text, Markdown, HTML, PDF nor DOCX",
    "media_type": "it is neither text, Markdown, HTML, PDF nor DOCX, or not of its declared type",
    "size": "it is too large (documents.most_bytes)",
    "text_size": "its text is too long (limits.document_bytes)",
    "time": "it did not arrive in time",
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


@dataclass(frozen=True, slots=True)
class Unread:
    """A document that could not be read: its rank, its name, a word for the reason, and why."""

    rank: int
    name: str
    reason: str
    why: str


Offered = Document | Given | DocumentError  # the last in place of what cannot be read
Reading = tuple[tuple[Document, ...], tuple[Unread, ...]]


def readable(offered: Sequence[Document | DocumentError]) -> Reading:
    """The documents and those that cannot be read, at their ranks, from 1. Raises the first
    DocumentError where there is no document beside it.
    """
    ranked = list(enumerate(offered, 1))
    documents = [replace(one, rank=rank) for rank, one in ranked if isinstance(one, Document)]
    errors = [(rank, one) for rank, one in ranked if isinstance(one, DocumentError)]
    if errors and not documents:
        raise errors[0][1]
    unread = (Unread(rank, error.name, error.reason, error.why) for rank, error in errors)
    return tuple(documents), tuple(unread)


def in_path(path: Path, limits: Limits) -> list[Offered]:
    """What is at a path: a document for each line of JSON lines, or file of a folder, else one.

    A folder is read by name, its files before the folders in it, without hidden ones and links. An
    error stands for a line, file or folder that cannot be read, one for all files of other kinds,
    and one for a folder without documents or a pipe, which may never end. Raises InputError for too
    many.
    """
    try:
        mode = path.stat().st_mode
    except OSError as error:
        return [unread_because(str(path), error)]
    if stat.S_ISREG(mode):
        return list(_in_file(path, limits))
    if not stat.S_ISDIR(mode):
        return [unread_because(str(path), PageError("pipe"))]
    offered: list[Offered] = []
    others = 0

    def fail(error: OSError) -> None:
        offered.append(unread_because(str(error.filename or path), error))

    for file in _listed(path, fail):
        if file.name.lower().endswith((*SUFFIXES, *JSON_LINES)):
            offered += _in_file(file, limits)
            limits.check_count(len(offered))
        else:
            others += 1
    if others:
        files = "file in it is of another kind" if others == 1 else "files in it are of other kinds"
        offered.append(DocumentError(str(path), "content_type", f"{others} {files}"))
    return offered or [DocumentError(str(path), "no_text", "there is no document in it")]


def _listed(folder: Path, fail: Callable[[OSError], None]) -> Iterator[Path]:
    """The files of a folder by name, then those of the folders in it, without links and hidden
    ones; `fail` gets the error of a folder that cannot be opened.
    """
    for place, folders, files in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for file in (Path(place, name) for name in sorted(files) if not name.startswith(".")):
            if file.is_file() and not file.is_symlink():
                yield file


def _in_file(path: Path, limits: Limits) -> Iterator[Offered]:
    if not path.name.lower().endswith(JSON_LINES):
        yield Given(path=path, title=path.name, name=str(path))
        return
    try:
        for line in read_corpus(path, limits):
            if isinstance(line, BadLine):
                yield DocumentError(f"{path}, line {line.number}", "damaged", line.reason)
            else:
                yield line.document
    except ConfigurationError as error:
        yield DocumentError(str(path), "file", str(error))


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

    def read(self, offered: Sequence[Offered], until: float = inf) -> Reading:
        """The documents with their texts, and those that cannot be read; none is begun after
        `until` (monotonic). Raises as `readable`, and ConfigurationError where an extractor is not
        installed.
        """
        urls = [one.url for one in offered if isinstance(one, Given) and one.is_address]
        fetched = self._fetched(urls, until)
        return readable([self._read(one, n, fetched, until) for n, one in enumerate(offered, 1)])

    def close(self) -> None:
        """End the process that extracts texts."""
        self._sandbox.close()

    def _read(
        self, one: Offered, rank: int, fetched: Iterator[Raw | BaseException], until: float
    ) -> Document | DocumentError:
        if isinstance(one, DocumentError):
            return one
        name = (one.name if isinstance(one, Given) else "") or one.url or f"document {rank}"
        try:
            document = one if isinstance(one, Document) else self._text(one, fetched, until)
        except (PageError, OSError) as error:
            return unread_because(name, error)
        return sized(document, name, self._limits)

    def _text(self, given: Given, fetched: Iterator[Raw | BaseException], until: float) -> Document:
        """The document of bytes that are given or fetched. Raises PageError, OSError."""
        from radarstream.connectors.webpages.reading import text_of

        raw = next(fetched) if given.is_address else self._loaded(given)
        if isinstance(raw, BaseException):
            raise raw if isinstance(raw, PageError) else PageError("network")
        if (left := until - monotonic()) <= 0.0:
            raise PageError("time")
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
            raise PageError("size")
        kind, _, charset = media_type.lower().partition(";")
        return Raw(data, kind.strip(), charset.partition("charset=")[2].strip(' "'))

    def _fetched(self, urls: Sequence[str], until: float) -> Iterator[Raw | BaseException]:
        """Fetch pages; failures are returned as errors. Half of the time is left for the others."""
        if not urls:
            return iter(())
        from radarstream.connectors.webpages.fetching import CheckedTransport
        from radarstream.connectors.webpages.reading import fetch_all

        transport = CheckedTransport(allow=self._may_fetch)
        fetching = fetch_all(urls, self._options, transport, (until - monotonic()) / 2)
        with ThreadPoolExecutor(1) as thread:  # because the caller's may run an event loop
            return iter(thread.submit(run, fetching).result())

    def _may_fetch(self, address: "Address", port: int) -> bool:
        """Whether the settings allow fetching from an address."""
        from radarstream.connectors.webpages.fetching import is_public

        return is_public(address, port) or any(address in network for network in self._networks)


def sized(document: Document, name: str, limits: Limits) -> Document | DocumentError:
    """The document, or the error where its text is too long."""
    if len(document.text.encode()) > limits.document_bytes:
        return unread_because(name, PageError("text_size"))
    return document


def unread_because(name: str, error: Exception) -> DocumentError:
    """Return the error for a document that cannot be read."""
    if isinstance(error, FileNotFoundError):
        why = "there is no such file or folder; an address begins with https:// or http://"
        return DocumentError(name, "file", why)
    if isinstance(error, OSError):
        return DocumentError(name, "file", f"cannot be read: {error.strerror or 'no reason given'}")
    word = str(error) if str(error) in WHY else "parse_crash"
    return DocumentError(name, word, WHY[word])
