"""InstructRAG: the model explains how the documents lead to its answer."""

from typing import ClassVar

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.answering import Stateless, all_kept, concluded
from radarstream.defenses.protocol import Complete, Defending, Signal, ask
from radarstream.schemas.evidence import AtomicAnswer, Evidence
from radarstream.schemas.prompt import Task, conclusion
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import Abstention


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class InstructRag(Stateless):
    """Answers with a rationale over all documents, after two worked rationales.

    From "InstructRAG: Instructing Retrieval-Augmented Generation via Self-Synthesized
    Rationales", the variant without training (ICL): the workflow of Eq. 1 and 2 in the RADAR paper
    with a prompt that asks to analyse the documents and to fall back on the model's own knowledge.
    Documents come in rank order, as in the reimplementations that are compared; the authors' code
    reverses it.

    Parameters
    ----------
    extract
        Whether the answer is what the rationale concludes: what follows its last "The answer is",
        else what a second request reads out of it. If not, the whole rationale is the answer, as
        the authors score it: a falsehood that it only quotes then counts as an answer.
    """

    extract: bool = True

    needs: ClassVar[frozenset[Signal]] = frozenset()

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        """Answer from all documents; abstain when the rationale or its conclusion does."""
        documents = all_kept(evidence)
        if not documents:
            return concluded(documents, Abstention.NO_DOCUMENTS), state
        question = evidence.query.text
        passages = tuple(document.passage for document in evidence.documents)
        answer = yield from ask(Complete(Task.ANSWER_WITH_RATIONALE, question, passages))
        if self.extract and not answer.abstained:
            if (ending := conclusion(answer.text)) is not None:
                answer = AtomicAnswer(ending)
            else:  # not final: it words what is decided already
                read = Complete(Task.ATOMIC_ANSWER, question, (answer.text,), final=False)
                answer = yield from ask(read)
        return concluded(documents, answer), state
