"""What models read of documents: short texts whole, long ones by their windows."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import compress, islice

from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.ports import Embedder
from radarstream.pipelines.signals.responses import checked
from radarstream.pipelines.signals.windows import (
    Window,
    best_windows,
    joined,
    reordered,
    says_more_than,
)
from radarstream.schemas.arrays import embedding_rows
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.snapshot import Document, Query, SearchSnapshot

Found = tuple[str, str, list[Window]]  # a question, a text and the windows that fit best


def as_read(
    snapshots: Sequence[SearchSnapshot],
    reading: ReadingSettings,
    embedder: Embedder | None = None,
) -> list[SearchSnapshot]:
    """The snapshots with their documents as models read them, see `read_documents`."""
    items = [(snapshot.query, snapshot.documents) for snapshot in snapshots]
    return [
        snapshot if documents == snapshot.documents else replace(snapshot, documents=documents)
        for snapshot, documents in zip(
            snapshots, read_documents(items, reading, embedder), strict=True
        )
    ]


def read_documents(
    items: Sequence[tuple[Query, Sequence[Document]]],
    reading: ReadingSettings,
    embedder: Embedder | None = None,
) -> list[tuple[Document, ...]]:
    """The documents of each query with the texts that models read in place of their own.

    Order, ranks, titles and addresses stay; so does a document that is short or repeats itself, or
    whose query asks for a long answer. The embedder is asked once for all of them, and only where
    the settings name candidates, which need one. Raises ModelError when it fails.
    """
    most = max(reading.candidates, reading.windows)
    long = [[is_long(query, d, reading) for d in documents] for query, documents in items]
    found = [
        (query.text, d.text, best_windows(query.text, d.text, reading.window_characters, most))
        for (query, documents), marks in zip(items, long, strict=True)
        for d in compress(documents, marks)
    ]
    if embedder is not None and reading.candidates and found:
        found = _compared(found, embedder)
    texts = (joined(text, windows[: reading.windows]) for _, text, windows in found)
    return [
        tuple(
            replace(d, text=next(texts)) if selected else d
            for d, selected in zip(documents, marks, strict=True)
        )
        for (_, documents), marks in zip(items, long, strict=True)
    ]


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


def _compared(found: Sequence[Found], embedder: Embedder) -> list[Found]:
    """The windows of each text in the order that embeddings give them, in one batch."""
    texts = [
        part
        for question, text, windows in found
        for part in (question, *(joined(text, [window]) for window in windows))
    ]
    rows = iter(checked(embedding_rows, embedder.embed(texts), len(texts)))
    ordered = []
    for question, text, windows in found:
        wanted: FloatArray = next(rows)
        cosines = [float(row @ wanted) for row in islice(rows, len(windows))]
        ordered.append((question, text, reordered(windows, cosines)))
    return ordered
