"""The pages of documents that quotes are on."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from radarstream.pipelines.signals.reading import ELLIPSIS
from radarstream.schemas.evidence import Quote
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.verdict import Verdict


def with_pages(verdict: Verdict, snapshot: SearchSnapshot, read: Sequence[Document]) -> Verdict:
    """The verdict with the page of each quote; `read` are the documents as they were read."""
    as_read = {document.rank: document for document in read}
    whole = {d.rank: d for d in snapshot.documents if d.pages and d.rank in as_read}
    documents = tuple(
        replace(d, page=page_of(whole[d.rank], as_read[d.rank], d.quote))
        if d.quote is not None and d.rank in whole
        else d
        for d in verdict.documents
    )
    return replace(verdict, documents=documents) if whole else verdict


def page_of(document: Document, read: Document, quote: Quote) -> int | None:
    """The page of a document that a quote of it, as it was `read`, is on, counted from 1.

    What is read are parts of the text, or all of it. None for a quote of the title.
    """
    start = quote[0] - (len(read.passage) - len(read.text))
    if start < 0:
        return None
    end = read.text.find(ELLIPSIS, start)
    part = read.text[: None if end < 0 else end].rpartition(ELLIPSIS)[2]
    place = document.text.find(part)
    if place < 0:
        return None
    within = start - ((len(read.text) if end < 0 else end) - len(part))
    return max(1, bisect_right(document.pages or (), place + within))
