"""The text of result pages in place of their snippets."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.util import find_spec

import httpx

from radarstream.connectors.closing import Closing
from radarstream.connectors.webpages.fetching import CheckedTransport, fetch, page_client
from radarstream.connectors.webpages.options import PageError, PageOptions
from radarstream.connectors.webpages.sandbox import Sandbox
from radarstream.schemas.plugins import lacking
from radarstream.schemas.snapshot import Document, SearchSnapshot

Fetched = tuple[bytes, str]
logger = logging.getLogger(__name__)


class PageReader(Closing):
    """Reads the pages of a snapshot; a page that cannot be read keeps its snippet.

    `counts` tells what became of pages, by outcome: "read", "no_text" or the word of a PageError.
    No page makes `with_pages` fail. Raises ConfigurationError when the extractor is not installed.
    """

    def __init__(
        self,
        options: PageOptions,
        transport: Callable[[], httpx.AsyncBaseTransport] = CheckedTransport,
    ) -> None:
        if find_spec("trafilatura") is None:
            raise lacking("trafilatura")
        self.counts: Counter[str] = Counter()
        self._sandbox = Sandbox(options)
        self._options = options
        self._transport = transport

    def with_pages(self, snapshot: SearchSnapshot) -> SearchSnapshot:
        """Return the snapshot with page text; everything else is as it was."""
        outcomes = asyncio.run(self._fetch_all([d.url for d in snapshot.documents]))
        documents = [
            self._with_text(document, outcome)
            for document, outcome in zip(snapshot.documents, outcomes, strict=True)
        ]
        return replace(snapshot, documents=tuple(documents))

    def close(self) -> None:
        """End the process that finds texts."""
        self._sandbox.close()

    async def _fetch_all(self, urls: Sequence[str]) -> list[Fetched | BaseException]:
        turn = asyncio.Semaphore(self._options.parallel)
        async with page_client(self._options, self._transport()) as client:

            async def one(url: str) -> Fetched:
                async with turn:
                    return await fetch(url, self._options, client)

            return await asyncio.gather(*(one(url) for url in urls), return_exceptions=True)

    def _with_text(self, document: Document, outcome: Fetched | BaseException) -> Document:
        text, word = self._read(outcome)
        self.counts[word] += 1
        return replace(document, text=text) if text else document

    def _read(self, outcome: Fetched | BaseException) -> tuple[str, str]:
        """Return the text of what was fetched, and what became of the page."""
        if isinstance(outcome, PageError):
            return "", str(outcome)
        if isinstance(outcome, BaseException):  # the other pages are there all the same
            logger.warning("a page was not fetched: %s", type(outcome).__name__)
            return "", "defect"
        try:
            text = self._sandbox.text(*outcome)
        except PageError as error:
            logger.warning("a page was fetched but not read: %s", error)
            return "", str(error)
        return text, "read" if text else "no_text"
