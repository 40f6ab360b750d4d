"""What Sentinel and Strategist look at, and what a model replies to them.

Like defences they hold no model, clock or file. Each says what a model is to be asked, and then
decides with its reply, or without one where no model is asked or it fails (ADO, Algorithm 3).
"""

import json
import re
from dataclasses import dataclass
from typing import Any, Final

from radarstream.schemas.orchestration import QuestionSignals, RetrievalSignals

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
