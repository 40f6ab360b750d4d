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

    Add it by `pipeline.add_component("guard", GuardDocuments(guard))`, then connect it to the
    documents of a retriever.

    >>> says = "Lima is the capital.", "Lima is its capital.", "Cusco is its capital."
    >>> with Guard(profile="scripted") as guard:
    ...     pages = [Document(content=text) for text in says]
    ...     outputs = GuardDocuments(guard).run("What is the capital?", pages)
    >>> outputs["answer"], [document.content for document in outputs["rejected"]]
    ('Lima', ['Cusco is its capital.'])
    """

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    @component.output_types(documents=list[Document], rejected=list[Document], answer=str)
    def run(self, query: str, documents: list[Document]) -> dict[str, Any]:
        """Return `documents` (kept), `rejected` and `answer`. Raises as `Guard.answer`."""
        answer = self.guard.answer(query, documents)
        return {
            "documents": [judged.document for judged in answer.kept],
            "rejected": [judged.document for judged in answer.rejected],
            "answer": answer.text,
        }
