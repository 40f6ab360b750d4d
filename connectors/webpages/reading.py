"""The text of result pages in place of their snippets."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import httpx
from lxml.etree import LxmlError  # type: ignore[import-untyped]

from connectors.files.page_text import capped
from connectors.webpages.fetching import CheckedTransport, PageError, fetch, page_client
from connectors.webpages.options import PageOptions
from schemas.codec import clean
from schemas.errors import ConfigurationError
from schemas.snapshot import Document, SearchSnapshot

try:
    from trafilatura import extract
except ImportError:
    raise ConfigurationError(
        "trafilatura is not installed: pip install 'radarstream[pages]'"
    ) from None


class PageReader:
    """Reads the pages of a snapshot; a page that cannot be read keeps its snippet.

    `counts` tells what became of pages, by outcome: "read" or the word of a PageError.
    """

    def __init__(
        self,
        options: PageOptions,
        transport: Callable[[], httpx.AsyncBaseTransport] = CheckedTransport,
    ) -> None:
        self.counts: Counter[str] = Counter()
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

    async def _fetch_all(self, urls: Sequence[str]) -> list[tuple[bytes, str] | PageError]:
        turn = asyncio.Semaphore(self._options.parallel)
        async with page_client(self._options, self._transport()) as client:

            async def one(url: str) -> tuple[bytes, str] | PageError:
                async with turn:
                    try:
                        return await fetch(url, self._options, client)
                    except PageError as error:
                        return error

            return await asyncio.gather(*(one(url) for url in urls))

    def _with_text(self, document: Document, outcome: tuple[bytes, str] | PageError) -> Document:
        if isinstance(outcome, PageError):
            self.counts[str(outcome)] += 1
            return document
        text = capped(page_text(*outcome), self._options.text_bytes)
        self.counts["read" if text else "no_text"] += 1
        return replace(document, text=text) if text else document


def page_text(page: bytes, charset: str) -> str:
    """Return the main text of a page, without controls; "" when there is none to be found."""
    html = _decoded(page, charset)
    try:
        text = extract(clean(html), fast=True, include_comments=False, include_tables=True)
    except (LxmlError, ValueError, TypeError, AttributeError, RecursionError):
        return ""  # the extractor's trees break in these ways on pages made to break them
    return clean(text or "").strip()


def _decoded(page: bytes, charset: str) -> str:
    for encoding in (charset, "utf-8"):
        try:
            return page.decode(encoding)
        except (LookupError, ValueError):  # no such encoding, or not of this one
            continue
    return page.decode("cp1252", errors="replace")  # what browsers fall back to
