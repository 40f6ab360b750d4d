"""LangChain: a document compressor that keeps what the guard keeps."""

from collections.abc import Sequence
from typing import Any

from pydantic import ConfigDict

from radarstream.library.guard import Guard

try:
    from langchain_core.documents import BaseDocumentCompressor, Document
except ImportError as error:
    raise ImportError(
        "langchain-core is not installed: pip install 'radarstream[adapters]'"
    ) from error


class GuardCompressor(BaseDocumentCompressor):
    """Passes on the documents that the guard keeps, in their order, for example in a
    `ContextualCompressionRetriever(base_compressor=GuardCompressor(guard=guard), ...)`.

    Raises what `Guard.answer` raises: a model that does not answer lets nothing through.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    guard: Guard

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Any = None,  # noqa: ARG002 the base class passes it
    ) -> Sequence[Document]:
        """Return the documents that the guard keeps for this query."""
        kept = self.guard.answer(query, documents).kept
        return [judged.document for judged in kept]
