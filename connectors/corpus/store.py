"""The corpus: add, remove and search texts.

Texts and vectors are in the state database. From its first search on, a `Corpus` also keeps the
vectors in memory and follows changes by other processes. A search, or `embed`, embeds new texts;
adding them does not.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from threading import Lock
from typing import Final

import numpy as np
from sqlalchemy import Connection, Engine

from radarstream.connectors.corpus.nearest import VectorSearch
from radarstream.connectors.corpus.options import CorpusOptions
from radarstream.connectors.models.wrapping import Embedder
from radarstream.connectors.state_table.corpus import texts
from radarstream.connectors.state_table.corpus import vectors as corpus_vectors
from radarstream.connectors.state_table.corpus.listing import read
from radarstream.connectors.state_table.corpus.texts import Added
from radarstream.connectors.state_table.corpus.vectors import Counters, other_model
from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.schemas.attribution import RankedText
from radarstream.schemas.errors import ModelError, ModelOutageError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.snapshot import Document, SearchSnapshot

DAY_MS: Final = 86_400_000
TEXTS_PER_EMBEDDING: Final = 128
CHARACTERS: Final = 32_768  # of a text that are embedded; far more than an embedder's window
PROBE: Final = "Is the embedder well?"


class Corpus:
    """Documents that questions can be answered from, shared by processes through the database.

    Thread-safe. The first search reads all vectors: 4 bytes per dimension and text.
    """

    def __init__(self, engine: Engine, options: CorpusOptions | None = None) -> None:
        self._engine = engine
        self._options = options or CorpusOptions()
        self._lock, self._archiving = Lock(), Lock()
        self._vectors = VectorSearch()
        self._complete: Counters | None = None  # the state in which all texts were embedded
        self._room = 0
        self._pruned_ms = -DAY_MS

    def add(
        self, documents: Iterable[Document | tuple[str | None, Document]], seen_ms: int
    ) -> Added:
        """Add a user's own documents, each alone or as (the user's id, document).

        One transaction. A document with a known id replaces the old one.
        """
        named = [(None, d) if isinstance(d, Document) else d for d in documents]
        return in_transaction(self._engine, lambda one: texts.add_own(one, named, seen_ms))

    def archive(self, connection: Connection, snapshot: SearchSnapshot) -> Added:
        """Add the documents of a snapshot, in the caller's transaction; repeating it is harmless.

        Deletes found texts that no query found during the retention time before this snapshot, and
        the oldest if there are too many. Each process counts again after a tenth of `max_texts`, so
        that several may exceed the limit by as much.
        """
        seen_ms = snapshot.observed_at_ms
        added = texts.add_found(connection, snapshot.documents, snapshot.query.id, seen_ms)
        if not added.new and not added.known:
            return added  # without the lock of the corpus, which must be taken before `_archiving`
        with self._archiving:
            self._room -= added.new
            if self._room < 0 or seen_ms - self._pruned_ms >= DAY_MS:
                self._bound(connection, seen_ms)
        return added

    def _bound(self, connection: Connection, now_ms: int) -> None:
        most, slack = self._options.max_texts, self._options.max_texts // 10
        texts.prune(connection, now_ms - self._options.retention_days * DAY_MS)
        left = texts.shrink(connection, most, down_to=most - slack)
        self._room = min(most - left, slack)
        self._pruned_ms = max(now_ms, self._pruned_ms)

    def remove(self, ids: Iterable[str]) -> int:
        """Delete texts by id or the user's id; return their number."""
        wanted = list(ids)
        return in_transaction(self._engine, lambda one: texts.remove(one, wanted))

    def remove_url_prefix(self, prefix: str) -> int:
        """Delete texts whose address begins with `prefix`, also a user's own; return how many."""
        return in_transaction(self._engine, lambda one: texts.remove_url_prefix(one, prefix))

    def prune(self, before_ms: int) -> int:
        """Delete found texts that were last seen before `before_ms`, and the oldest above
        `max_texts`; return how many.
        """

        def work(connection: Connection) -> int:
            old = texts.prune(connection, before_ms)
            many = texts.count_found(connection)
            return old + many - texts.shrink(connection, self._options.max_texts)

        return in_transaction(self._engine, work)

    def embed(
        self,
        embedder: Embedder,
        *,
        at_most: int | None = None,
        tell: Callable[[int, int], None] | None = None,
    ) -> int:
        """Embed texts without a vector, the last seen first; return how many got one.

        Each batch is stored at once, and `tell(done, all)` is called after it. A text that the
        model cannot embed is not tried again. Raises ModelError if the model fails,
        ConfigurationError if the corpus has vectors of another model.
        """
        self._check_model(embedder)
        pending = corpus_vectors.pending_ids(self._engine, at_most)
        count = 0
        for start in range(0, len(pending), TEXTS_PER_EMBEDDING):
            found = read(self._engine, pending[start : start + TEXTS_PER_EMBEDDING])
            rows = _unit_rows_or_none(embedder, [_passage(t.document) for t in found.values()])
            vectors = {
                id_: b"" if row is None else row.astype("<f4").tobytes()
                for id_, row in zip(found, rows, strict=True)
            }
            count += corpus_vectors.store(self._engine, embedder.model_id, vectors)
            if tell is not None:
                tell(min(start + TEXTS_PER_EMBEDDING, len(pending)), len(pending))
        return count

    def rebuild(self, embedder: Embedder) -> int:
        """Drop the vectors of another model, before `embed`; return how many."""
        return corpus_vectors.drop_vectors(self._engine, embedder.model_id)

    def search(
        self,
        question: str,
        m: int,
        embedder: Embedder,
        *,
        exclude: Collection[str] = (),
        embed_at_most: int | None = None,
    ) -> list[RankedText]:
        """Return the m texts nearest to the question by cosine, best first, without `exclude`.

        First it embeds up to `embed_at_most` texts without a vector; it does not find the others.
        Equal similarities are ordered by id. Raises as `embed`.
        """
        with self._lock:
            self._follow(embedder, embed_at_most)
            (row,) = _unit_rows(embedder, [question])
            near = self._vectors.nearest(row, m, exclude)
        found = read(self._engine, [n.text_id for n in near])
        there = [n for n in near if n.text_id in found]  # others were deleted meanwhile
        return [
            RankedText(id_, replace(found[id_].document, rank=rank), similarity)
            for rank, (id_, similarity) in enumerate(there, start=1)
        ]

    def _follow(self, embedder: Embedder, at_most: int | None) -> None:
        """Bring the vectors in memory up to date; without changes this costs one query."""
        now = self._check_model(embedder)
        if now == self._complete:
            return
        self.embed(embedder, at_most=at_most)
        known = self._vectors.follow(self._engine)
        if known.model not in (None, embedder.model_id):
            raise other_model(known.model, embedder.model_id)
        # Read after `known`, so that the next search embeds what others added meanwhile.
        left = corpus_vectors.pending_ids(self._engine, 1)
        self._complete = None if left else known

    def _check_model(self, embedder: Embedder) -> Counters:
        with self._engine.connect() as connection:
            now = corpus_vectors.counters(connection)
        if now.model not in (None, embedder.model_id):
            raise other_model(now.model, embedder.model_id)
        return now


def _passage(document: Document) -> str:
    """Return the beginning of a document for the embedder: title, then text, in valid Unicode."""
    head = document.passage[:CHARACTERS]
    return head.encode("utf-8", "replace").decode("utf-8")


def _unit_rows(embedder: Embedder, passages: Sequence[str]) -> FloatArray:
    """Embed m passages as (m, d) rows of unit length.

    Raises ModelError if the model fails or does not return m finite rows other than 0.
    """
    rows = np.asarray(embedder.embed(passages), dtype=np.float64)
    if rows.ndim != 2 or len(rows) != len(passages):
        raise ModelError(f"{embedder.model_id} did not return one row per text")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0.0).all()):
        raise ModelError(f"{embedder.model_id} returned a row without a direction")
    return np.asarray(rows / lengths)


def _unit_rows_or_none(embedder: Embedder, passages: Sequence[str]) -> list[FloatArray | None]:
    """Embed passages as `_unit_rows`, with None for those that a working model cannot embed.

    Halves a failed batch to find them. Raises ModelError if the model does not work at all.
    """
    try:
        return list(_unit_rows(embedder, passages))
    except ModelOutageError:
        raise
    except ModelError:
        if len(passages) == 1:
            _unit_rows(embedder, [PROBE])
            return [None]
    half = len(passages) // 2
    return [
        *_unit_rows_or_none(embedder, passages[:half]),
        *_unit_rows_or_none(embedder, passages[half:]),
    ]
