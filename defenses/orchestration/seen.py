"""What Sentinel and Strategist look at, and what a model replies to them.

Like defences they hold no model, clock or file. Each says what a model is to be asked, and then
decides with its reply, or without one where no model is asked or it fails (ADO, Algorithm 3).
"""

import re
from dataclasses import dataclass
from typing import Final

from radarstream.schemas.codec.json_text import JsonObject, parse_object
from radarstream.schemas.errors import InputError
from radarstream.schemas.orchestration import QuestionSignals, RetrievalSignals

MOST_BYTES: Final = 2**16  # of a reply
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


def json_object(reply: str | None) -> JsonObject | None:
    """The one JSON object that a reply is, also in a code fence; None for anything else.

    What makes an event malformed (`codec.json_text`) makes a reply nothing, too.
    """
    if reply is None:
        return None
    fenced = _FENCE.match(reply)
    data = (fenced[1] if fenced else reply).strip().encode("utf-8", "surrogatepass")
    try:
        return parse_object(data, max_bytes=MOST_BYTES)
    except InputError:
        return None
