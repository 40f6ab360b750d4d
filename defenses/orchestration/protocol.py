"""The control plane: pure methods that judge a question and plan its defence.

Like defences they hold no model, clock or file. Each says what a model is to be asked, and then
decides with its reply, or without one where no model is asked or it fails (ADO, Algorithm 3).
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final, Protocol

from radarstream.defenses.protocol import Complete
from radarstream.schemas.orchestration import Plan, QuestionSignals, RetrievalSignals, RiskProfile

_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)


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
    """Tells how risky a question is; `earlier` is the profile of the first look, if any."""

    def asks(self, seen: Seen, earlier: RiskProfile | None) -> Complete | None:
        """What a model is to be asked; None for nothing."""
        ...

    def profile(
        self, seen: Seen, earlier: RiskProfile | None, reply: str | None = None
    ) -> RiskProfile:
        """The profile, by the reply of the model if there is one."""
        ...


class Strategist(Protocol):
    """Makes a plan from a profile and the numbers of `seen`, never from the question.

    Without the `earlier` plan it is that of stage 1, which only decides on privacy; with it that of
    stage 2, which decides on the rest and cannot switch privacy on.
    """

    def asks(self, profile: RiskProfile, seen: Seen, earlier: Plan | None) -> Complete | None:
        """What a model is to be asked; None for nothing."""
        ...

    def plan(
        self, profile: RiskProfile, seen: Seen, earlier: Plan | None, reply: str | None = None
    ) -> Plan:
        """The plan, by the reply of the model if there is one."""
        ...


def json_object(reply: str | None) -> dict[str, Any] | None:
    """The one JSON object that a reply is, also in a code fence; None for anything else.

    A key that is there twice makes it nothing, and so do NaN and infinity.
    """
    if reply is None:
        return None
    fenced = _FENCE.match(reply)
    try:
        value = json.loads(
            fenced[1] if fenced else reply,
            object_pairs_hook=_without_repeats,
            parse_constant=_refused,
        )
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key is there twice")
    return found


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is no number")
