"""Haystack: a component that answers and keeps what the guard keeps."""

from typing import Any

from radarstream.library.guard import Guard

try:
    from haystack import Document, component
except ImportError as error:
    raise ImportError("haystack is not installed: pip install 'radarstream[adapters]'") from error


@component
class GuardDocuments:
    """Splits retrieved documents into those that the guard keeps and those that it rejects.

    `pipeline.add_component("guard", GuardDocuments(guard))`, then connect a retriever's documents.
    """

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    @component.output_types(documents=list[Document], rejected=list[Document], answer=str)
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        """The kept and the rejected documents and the answer. Raises what `Guard.answer` raises."""
        answer = self.guard.answer(query, documents)
        return {
            "documents": [judged.document for judged in answer.kept],
            "rejected": [judged.document for judged in answer.rejected],
            "answer": answer.text,
        }
