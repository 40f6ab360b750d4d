"""What defences share that answer from documents: verdicts, and the request for the answer."""

from collections.abc import Iterable

from radarstream.defenses.protocol import Asking, Complete, ask
from radarstream.schemas.errors import EvidenceError
from radarstream.schemas.evidence import AtomicAnswer, Evidence
from radarstream.schemas.memory import Belief
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import KEEPING, Abstention, DocumentVerdict, Reason, Verdict

Documents = tuple[DocumentVerdict, ...]


class Stateless:
    """A defence that remembers nothing."""

    __slots__ = ()

    def initial_state(self) -> None:
        """Nothing is remembered."""


class Remembering:
    """A defence that remembers its previous answer."""

    __slots__ = ()

    def initial_state(self) -> Belief | None:
        """No previous answer."""
        return None


def answers_of(evidence: Evidence) -> tuple[AtomicAnswer, ...]:
    """The atomic answers. Raises EvidenceError where they are missing."""
    if evidence.answers is None:
        raise EvidenceError("atomic answers are needed, the evidence has none")
    return evidence.answers


def why_no_evidence(evidence: Evidence) -> Abstention:
    """Why nothing answers: there are no documents, or none says anything."""
    return Abstention.NO_EVIDENCE if evidence.documents else Abstention.NO_DOCUMENTS


def judged(
    evidence: Evidence, reasons: Iterable[Reason], answers: Iterable[AtomicAnswer] = ()
) -> Documents:
    """A verdict on each document for its reason, with what its answer says, if that is given."""
    documents = evidence.documents
    texts = [None if a.abstained else a.text for a in answers] or [None] * len(documents)
    return tuple(
        DocumentVerdict(document.rank, why in KEEPING, why, text)
        for document, why, text in zip(documents, reasons, texts, strict=True)
    )


def all_kept(evidence: Evidence) -> Documents:
    """Verdicts that keep every document without judging it."""
    return judged(evidence, [Reason.NOT_JUDGED] * len(evidence.documents))


def concluded(documents: Documents, answer: AtomicAnswer | Abstention) -> Verdict:
    """The verdict with a model's answer; an abstention where the model or the defence abstains."""
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
