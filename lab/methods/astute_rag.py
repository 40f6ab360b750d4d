"""AstuteRAG: what the model remembers is weighed against what was retrieved."""

from typing import ClassVar

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.answering import Stateless, all_kept, concluded
from radarstream.defenses.protocol import Complete, Defending, Signal, ask
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import Abstention


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class AstuteRag(Stateless):
    """Writes down what it knows by itself, then consolidates that with the documents.

    From the paper "Astute RAG: Overcoming Imperfect Retrieval Augmentation and Knowledge
    Conflicts for Large Language Models" (Algorithm 1, with one generated passage and one
    iteration, in which consolidation and answer are one request). A first request asks for a
    passage from memory, the second shows all documents in rank order and that passage, each marked
    with its source, and asks to group what agrees and to choose between the groups. A model that
    knows nothing by itself adds no passage. On fresh news, memory that is out of date can overrule
    the documents.
    """

    needs: ClassVar[frozenset[Signal]] = frozenset()

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        """Answer from all documents and memory; abstain when the consolidation does."""
        documents = all_kept(evidence)
        if not documents:
            return concluded(documents, Abstention.NO_DOCUMENTS), state
        question = evidence.query.text
        known = yield from ask(Complete(Task.RECALL_PASSAGE, question, (), final=False))
        # Every passage starts with its source, so that no document can pretend to another.
        passages = [f"Retrieved: {document.passage}" for document in evidence.documents]
        if not known.abstained:
            passages.append(f"Remembered: {known.text}")
        answer = yield from ask(Complete(Task.CONSOLIDATE_PASSAGES, question, tuple(passages)))
        return concluded(documents, answer), state
