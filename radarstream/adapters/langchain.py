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

    Raises as `Guard.answer`: if a model fails, no document is passed on.

    >>> says = "Lima is the capital.", "Lima is its capital.", "Cusco is its capital."
    >>> with Guard(profile="scripted") as guard:
    ...     pages = [Document(text) for text in says]
    ...     kept = GuardCompressor(guard=guard).compress_documents(pages, "What is the capital?")
    >>> [document.page_content for document in kept]
    ['Lima is the capital.', 'Lima is its capital.']
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    guard: Guard

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Any = None,  # noqa: ARG002 the base class passes it
    ) -> Sequence[Document]:
        """Return the documents that the guard keeps for `query`."""
        kept = self.guard.answer(query, documents).kept
        return [judged.document for judged in kept]
