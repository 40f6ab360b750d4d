"""What a model of the control plane replied, as a JSON object."""

import json
import re
from typing import Any, Final

from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer

_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*(.*?)\s*```\s*\Z", re.DOTALL)


def json_object(reply: AtomicAnswer | ModelError) -> dict[str, Any] | None:
    """The one JSON object that a reply is, also in a code fence; None for anything else.

    A key that is there twice makes it nothing, and so do NaN and infinity.
    """
    if isinstance(reply, ModelError) or reply.abstained:
        return None
    fenced = _FENCE.match(reply.text)
    try:
        value = json.loads(
            fenced[1] if fenced else reply.text,
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
