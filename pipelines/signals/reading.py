"""What models read of documents: short texts whole, long ones by their windows."""

from collections.abc import Sequence
from dataclasses import replace

from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.windows import best_windows, joined, says_more_than
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot


def as_read(snapshots: Sequence[SearchSnapshot], reading: ReadingSettings) -> list[SearchSnapshot]:
    """The snapshots with their documents as models read them."""
    read = [read_documents(s.query, s.documents, reading) for s in snapshots]
    return [
        snapshot if documents == snapshot.documents else replace(snapshot, documents=documents)
        for snapshot, documents in zip(snapshots, read, strict=True)
    ]


def read_documents(
    query: Query, documents: Sequence[Document], reading: ReadingSettings
) -> tuple[Document, ...]:
    """The documents of a query with the texts that models read in place of their own.

    Order, ranks, titles and addresses stay; so does a document that is short or repeats itself, or
    whose query asks for a long answer.
    """
    return tuple(
        replace(document, text=_windows_of(document.text, query.text, reading))
        if is_long(query, document, reading)
        else document
        for document in documents
    )


def _windows_of(text: str, question: str, reading: ReadingSettings) -> str:
    return joined(text, best_windows(question, text, reading.window_characters, reading.windows))


def is_long(query: Query, document: Document, reading: ReadingSettings) -> bool:
    """Whether only some windows of a document are read.

    Of a text that repeats itself until it is long, a selection would leave nothing out.
    """
    return (
        reading.windows > 0
        and not query.long_form
        and len(document.passage) > reading.whole_characters
        and says_more_than(document.text, reading.windows * reading.window_characters)
    )
