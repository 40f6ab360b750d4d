"""Where the documents of a question come from."""

from dataclasses import replace

from radarstream.connectors.corpus.store import Corpus
from radarstream.pipelines.asking.values import UserQuestion
from radarstream.pipelines.signals.ports import Embedder
from radarstream.schemas.snapshot import Document


class GivenDocuments:
    """The documents that a user gives with the question, in the user's order."""

    def retrieve(self, question: UserQuestion, wanted: int) -> tuple[Document, ...]:
        """The first `wanted` of them, ranks from 1."""
        ordered = sorted(question.documents, key=lambda document: document.rank)
        return tuple(replace(d, rank=rank) for rank, d in enumerate(ordered[:wanted], start=1))


class CorpusRetriever:
    """The stored documents that are nearest to the question."""

    def __init__(self, corpus: Corpus, embedder: Embedder) -> None:
        self._corpus, self._embedder = corpus, embedder

    def retrieve(self, question: UserQuestion, wanted: int) -> tuple[Document, ...]:
        """The nearest by cosine. Raises ModelError, ConfigurationError."""
        near = self._corpus.search(question.text, wanted, self._embedder)
        return tuple(text.document for text in near)
