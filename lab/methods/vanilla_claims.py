"""Every atomic answer in one prompt: what reading documents one by one buys without selection."""

from typing import ClassVar

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.answering import Stateless, answers_of, concluded, judged, why_no_evidence
from radarstream.defenses.protocol import Complete, Defending, Signal, ask
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import Reason


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class VanillaClaims(Stateless):
    """Synthesises an answer from the atomic answers of all informative documents, in rank order.
    The last step of the RADAR paper (Eq. 17) without its selection and memory.
    """

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.ATOMIC_ANSWERS})

    def defend(self, evidence: Evidence, state: None) -> Defending[None]:
        """Answer from all atomic answers; raises EvidenceError when they are missing."""
        answers = answers_of(evidence)
        reasons = [Reason.UNINFORMATIVE if a.abstained else Reason.NOT_JUDGED for a in answers]
        documents = judged(evidence, reasons, answers)
        claims = tuple(answer.text for answer in answers if not answer.abstained)
        if not claims:
            return concluded(documents, why_no_evidence(evidence)), state
        answer = yield from ask(Complete(Task.SYNTHESISE_ANSWERS, evidence.query.text, claims))
        return concluded(documents, answer), state
