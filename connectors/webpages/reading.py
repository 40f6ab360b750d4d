"""Fetches and reads pages, and replaces snippets of search results by the text of their pages."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from time import monotonic

import httpx

from radarstream.connectors.closing import Closing
from radarstream.connectors.webpages.fetching import CheckedTransport, fetch, page_client
from radarstream.connectors.webpages.media import LIBRARIES, Kind, kind_of, paged, plain_text
from radarstream.connectors.webpages.options import PageError, PageOptions, Raw
from radarstream.connectors.webpages.sandbox import Sandbox
from radarstream.schemas.plugins import insist_on
from radarstream.schemas.snapshot import Document, SearchSnapshot

Fetched = Raw | BaseException
logger = logging.getLogger(__name__)


async def fetch_all(
    urls: Sequence[str],
    options: PageOptions,
    transport: httpx.AsyncBaseTransport,
    seconds: float = inf,
) -> list[Fetched]:
    """Fetch pages, `options.parallel` at once, all within `seconds`; failures are returned as
    errors.
    """
    turn, until = asyncio.Semaphore(options.parallel), monotonic() + seconds
    async with page_client(options, transport) as client:

        async def one(url: str) -> Raw:
            async with turn:
                if (left := until - monotonic()) <= 0.0:
                    raise PageError("time")
                within = options.model_copy(update={"seconds": min(options.seconds, left)})
                return await fetch(url, within, client)

        return await asyncio.gather(*(one(url) for url in urls), return_exceptions=True)


def text_of(raw: Raw, sandbox: Sandbox, seconds: float = inf) -> str:
    """Return the text of a document, with a form feed after each page of a paged one.

    It takes at most `seconds` after the start of the process. Raises PageError: no_text, media_type
    and those of `Sandbox.text`; ConfigurationError if the extractor is not installed.
    """
    if not raw.data or raw.data.isspace():
        raise PageError("no_text")
    kind = kind_of(raw)
    if kind is Kind.TEXT:
        text = plain_text(raw)
    else:
        insist_on(LIBRARIES[kind])
        text = sandbox.text(kind, raw, seconds)
    if not text.strip():
        raise PageError("no_text")
    return text


class PageReader(Closing):
    """Reads the pages of a snapshot; a document whose page cannot be read keeps its snippet.

    `counts` has the number of pages by outcome: "read", "no_text" or the word of a PageError.
    Raises ConfigurationError if the extractor is not installed.
    """

    def __init__(
        self,
        options: PageOptions,
        transport: Callable[[], httpx.AsyncBaseTransport] = CheckedTransport,
    ) -> None:
        insist_on("trafilatura")
        self.counts: Counter[str] = Counter()
        self._sandbox = Sandbox(options)
        self._options = options
        self._transport = transport

    def with_pages(self, snapshot: SearchSnapshot) -> SearchSnapshot:
        """Return the snapshot with the text of pages; no page makes it fail."""
        urls = [document.url for document in snapshot.documents]
        outcomes = asyncio.run(fetch_all(urls, self._options, self._transport()))
        documents = [
            self._with_text(document, outcome)
            for document, outcome in zip(snapshot.documents, outcomes, strict=True)
        ]
        return replace(snapshot, documents=tuple(documents))

    def close(self) -> None:
        """End the process that extracts texts."""
        self._sandbox.close()

    def _with_text(self, document: Document, outcome: Fetched) -> Document:
        text, word = self._read(outcome)
        self.counts[word] += 1
        if not text:
            return document
        text, pages = paged(text)
        return replace(document, text=text, pages=pages)

    def _read(self, outcome: Fetched) -> tuple[str, str]:
        """Return the text of a page, and its outcome for `counts`."""
        if isinstance(outcome, PageError):
            return "", str(outcome)
        if isinstance(outcome, BaseException):  # it does not affect the other pages
            logger.warning("a page was not fetched: %s", type(outcome).__name__)
            return "", "defect"
        try:
            return text_of(outcome, self._sandbox), "read"
        except PageError as error:
            if str(error) != "no_text":
                logger.warning("a page was fetched but not read: %s", error)
            return "", str(error)
