"""Helpers of defences that answer from documents: verdicts, and the request for the answer."""

from collections.abc import Iterable

from radarstream.defenses.protocol import Asking, Complete, ask
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.evidence import AtomicAnswer, Evidence
from radarstream.schemas.memory import Belief
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import KEEPING, Abstention, DocumentVerdict, Reason, Verdict

Documents = tuple[DocumentVerdict, ...]


class Stateless:
    """Base of defences without a memory."""

    __slots__ = ()

    def initial_state(self) -> None:
        """Return None."""


class Remembering:
    """Base of defences that remember their previous answer."""

    __slots__ = ()

    def initial_state(self) -> Belief | None:
        """Return None: there is no previous answer."""
        return None


def answers_of(evidence: Evidence) -> tuple[AtomicAnswer, ...]:
    """Return the atomic answers. Raises EvidenceError if they are missing."""
    if evidence.answers is None:
        raise EvidenceError("atomic answers are needed, the evidence has none")
    return evidence.answers


def why_no_evidence(evidence: Evidence) -> Abstention:
    """Return the abstention if no document has an answer."""
    return Abstention.NO_EVIDENCE if evidence.documents else Abstention.NO_DOCUMENTS


def judged(
    evidence: Evidence, reasons: Iterable[Reason], answers: Iterable[AtomicAnswer] = ()
) -> Documents:
    """Return a verdict on each document from its reason and, if given, its answer."""
    documents = evidence.documents
    texts = [None if a.abstained else a.text for a in answers] or [None] * len(documents)
    return tuple(
        DocumentVerdict(document.rank, why in KEEPING, why, text)
        for document, why, text in zip(documents, reasons, texts, strict=True)
    )


def all_kept(evidence: Evidence) -> Documents:
    """Return verdicts that keep every document without judging it."""
    return judged(evidence, [Reason.NOT_JUDGED] * len(evidence.documents))


def concluded(documents: Documents, answer: AtomicAnswer | Abstention) -> Verdict:
    """Return the verdict with a model's answer, or with the abstention of model or defence."""
    if isinstance(answer, Abstention):
        return Verdict("", documents, abstention=answer)
    if answer.abstained:
        return Verdict("", documents, abstention=Abstention.MODEL_ABSTAINED)
    return Verdict(answer.text, documents)


def answered_from_kept(evidence: Evidence, documents: Documents) -> Asking[Verdict]:
    """Answer from the kept documents, in rank order."""
    passages = tuple(
        document.passage
        for document, verdict in zip(evidence.documents, documents, strict=True)
        if verdict.kept
    )
    answer = yield from ask(Complete(Task.ANSWER_FROM_DOCUMENTS, evidence.query.text, passages))
    return concluded(documents, answer)
