"""Undefended retrieval-augmented generation, a baseline."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.answering import Stateless, all_kept, concluded
from radarstream.defenses.protocol import Asking, Complete, Defending, Signal, ask
from radarstream.schemas.evidence import AtomicAnswer, Evidence
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT, Document
from radarstream.schemas.verdict import Abstention


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Vanilla(Stateless):
    """Answers from every retrieved document, in rank order, in one prompt.

    Eq. 1 and 2 of the RADAR paper, its "Vanilla" baseline.
    """

    needs: ClassVar[frozenset[Signal]] = frozenset()

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        """Answer from all documents; abstain if there are none or the model abstains."""
        documents = all_kept(evidence)
        if not documents:
            return concluded(documents, Abstention.NO_DOCUMENTS), state
        answer = yield from undefended_answer(evidence.query.text, evidence.documents)
        return concluded(documents, answer), state


def undefended_answer(question: str, documents: Sequence[Document]) -> Asking[AtomicAnswer]:
    """Ask for an answer from all documents at once, in this order; without any, abstain."""
    if not documents:
        return AtomicAnswer("", abstained=True)
    passages = tuple(document.passage for document in documents)
    return (yield from ask(Complete(Task.ANSWER_FROM_DOCUMENTS, question, passages)))
