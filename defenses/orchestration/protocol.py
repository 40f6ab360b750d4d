"""The control plane: pure generators that judge a question and plan its defence.

Like defences they hold no model, clock or file; `pipelines.asking` fulfils their requests and falls
back to `without_model` where a model fails (ADO, Algorithm 3).
"""

from dataclasses import dataclass
from typing import Protocol

from radarstream.defenses.responses import Asking
from radarstream.schemas.orchestration import Plan, QuestionSignals, RetrievalSignals, RiskProfile


@dataclass(frozen=True, slots=True)
class Seen:
    """What the Sentinel may look at: never text of documents.

    `question` is untrusted. `retrieval` is None at the first look, before the retrieval.
    """

    question: str
    trust: float
    signals: QuestionSignals
    retrieval: RetrievalSignals | None = None


class Sentinel(Protocol):
    """Tells how risky a question is."""

    def look(self, seen: Seen, earlier: RiskProfile | None = None) -> Asking[RiskProfile]:
        """The profile; `earlier` is that of the first look. Never raises for what it has seen."""
        ...

    def without_model(self, seen: Seen, earlier: RiskProfile | None = None) -> RiskProfile:
        """The profile where no model can be asked."""
        ...


class Strategist(Protocol):
    """Makes a plan from a profile."""

    def plan(self, profile: RiskProfile, seen: Seen, earlier: Plan | None = None) -> Asking[Plan]:
        """The plan of stage 1, which only decides on privacy and the question, or with `earlier` of
        stage 2, which decides on the rest and cannot switch privacy on.

        It reads numbers of `seen` alone, not the question.
        """
        ...

    def without_model(self, profile: RiskProfile, seen: Seen, earlier: Plan | None = None) -> Plan:
        """The plan where no model can be asked."""
        ...
