"""A plain vote over atomic answers, the baseline of the other defences."""

from collections import Counter
from typing import ClassVar

from pydantic.dataclasses import dataclass as checked_dataclass

from radarstream.defenses.answering import (
    Remembering,
    answers_of,
    concluded,
    judged,
    why_no_evidence,
)
from radarstream.defenses.protocol import Defending, Signal
from radarstream.schemas.answer_text import spelling
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Belief
from radarstream.schemas.snapshot import STRICT
from radarstream.schemas.verdict import MemoryDecision, MemoryVerdict, Reason, Verdict


@checked_dataclass(frozen=True, slots=True, config=STRICT)
class Majority(Remembering):
    """Gives the atomic answer of most documents, without further calls of models.

    No paper has this baseline for the selection of RADAR's Algorithm 1. Answers are equal if
    `schemas.answer_text.spelling` is. Of answers with equally many votes, the best ranked wins.

    Parameters
    ----------
    memory
        Whether the previous answer has a vote, too. It loses ties, so that it never wins alone.
    """

    memory: bool = False

    needs: ClassVar[frozenset[Signal]] = frozenset({Signal.ATOMIC_ANSWERS})

    def defend(self, evidence: Evidence, state: Belief | None) -> Defending[Belief | None]:
        """Count the votes of one snapshot. Raises EvidenceError if the answers are missing."""
        yield from ()
        answers = answers_of(evidence)
        ballots = [None if a.abstained else spelling(a.text) or a.text for a in answers]
        votes = Counter(ballot for ballot in ballots if ballot is not None)
        if not votes:
            documents = judged(evidence, [Reason.UNINFORMATIVE] * len(answers))
            return concluded(documents, why_no_evidence(evidence)), state
        remembered = None if state is None else spelling(state.answer) or state.answer
        if remembered is not None:
            votes[remembered] += 1
        # `max` takes the first of equals, that is the best ranked; the memory was counted last.
        winner = max(votes, key=votes.__getitem__)
        answer = answers[ballots.index(winner)].text
        reasons = {None: Reason.UNINFORMATIVE, winner: Reason.SUPPORTED}
        why = [reasons.get(ballot, Reason.OUTVOTED) for ballot in ballots]
        memory = _recalled(state, retained=winner == remembered)
        verdict = Verdict(answer, judged(evidence, why, answers), memory=memory)
        if not self.memory:
            return verdict, None
        share = ballots.count(winner) / sum(ballot is not None for ballot in ballots)
        return verdict, Belief(answer, share, 1.0 - share)


def _recalled(state: Belief | None, *, retained: bool) -> MemoryVerdict:
    if state is None:
        return MemoryVerdict()
    return MemoryVerdict(
        decision=MemoryDecision.RETAINED if retained else MemoryDecision.FALSIFIED,
        previous_answer=state.answer,
        support_prior=state.support,
        conflict_prior=state.conflict,
    )
