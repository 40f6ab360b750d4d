"""A defence's state to and from the bytes of its row in the state table: about a hundred.

Floats keep every digit and text every character, so that a job that resumes from the row takes
the same decisions as one that was never stopped.
"""

import json
from datetime import datetime
from sys import float_info
from typing import Any

from radarstream.schemas.codec.wire import compact_json
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.memory import Belief, LastAnswer, StandingAnswer
from radarstream.schemas.times import CALENDAR_MS, milliseconds, time_at

STATE_VERSION = 2  # version 1 knows no standing answer and no time of the voices

_COUNTS = {
    "n": "stored voices are not a finite number >= 0",
    "d": "stored documents are not a finite number >= 0",
}

State = Belief | LastAnswer | None


def encode_state(state: State, standing: StandingAnswer | None = None) -> bytes:
    """`{"v":1,"a":answer,"s":support,"f":conflict}`, or `{"v":1}` for no state.

    Voices are `"n"`, where there are any.
    The last answer of a lightweight history is `"p"`, beside what it wraps.
    Two things make the version 2, times in milliseconds since 1970. With a standing answer, `"t"`
    is when it was confirmed, and `"w"` its words where they are not those of `"a"`. With the time
    of the voices, which is `"u"`, the documents are `"d"`.
    """
    row: dict[str, object] = {"v": 1 if standing is None else STATE_VERSION}
    if isinstance(state, LastAnswer):
        row["p"] = state.answer
        state = state.inner
    if state is not None:
        row |= {"a": state.answer, "s": state.support, "f": state.conflict}
        if state.voices:
            row["n"] = state.voices
        if state.confirmed_at is not None:
            row |= {"v": STATE_VERSION, "d": state.documents, "u": milliseconds(state.confirmed_at)}
    if standing is not None:
        at = standing.confirmed_at
        row["t"] = None if at is None else milliseconds(at)
        if row.get("a") != standing.answer:
            row["w"] = standing.answer
    return compact_json(row).encode("utf-8", "surrogatepass")


def decode_state(data: bytes) -> State:
    """The state of `encode_state`. Raises InputError for another version or a damaged row."""
    return decode_stored(data)[0]


def decode_stored(data: bytes) -> tuple[State, StandingAnswer | None]:
    """Inverse of `encode_state`. Raises InputError for another version or a damaged row.

    Where no standing answer is written, the one that a belief holds stands; when it was confirmed
    is not known.
    """
    try:
        row = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise InputError(ReasonClass.MALFORMED_JSON, "the stored state is not JSON") from None
    version = row.pop("v", None) if isinstance(row, dict) else None
    timed = isinstance(row, dict) and not row.keys().isdisjoint(("t", "u"))
    if type(version) is not int or version != 1 + timed:
        raise InputError(
            ReasonClass.UNKNOWN_SCHEMA,
            f"the stored state is neither of version 1 nor of version {STATE_VERSION}",
        )
    standing = _standing(row) if "t" in row else None
    state: State
    if "p" in row:
        answer = row.pop("p")
        if not isinstance(answer, str | None):
            raise InputError(ReasonClass.WRONG_TYPE, "the stored last answer is not text")
        belief = _belief(row)
        state = LastAnswer(answer, belief)
    else:
        state = belief = _belief(row)
    if standing is None and belief is not None:
        standing = StandingAnswer(belief.answer, None)
    return state, standing


def _standing(row: dict[str, Any]) -> StandingAnswer:
    """Take the standing answer out of a row of version 2."""
    words, at_ms = row.pop("w", row.get("a")), row.pop("t")
    if not isinstance(words, str):
        raise InputError(ReasonClass.WRONG_TYPE, "the stored standing answer is not text")
    return StandingAnswer(words, None if at_ms is None else _time(at_ms))


def _belief(row: dict[str, Any]) -> Belief | None:
    if not row:
        return None
    voices, documents = (
        _number(row.pop(name, 0.0), float_info.max, detail) for name, detail in _COUNTS.items()
    )
    since = _time(row.pop("u")) if "u" in row else None
    if row.keys() != {"a", "s", "f"} or not isinstance(row["a"], str):
        raise InputError(ReasonClass.WRONG_TYPE, "the stored state is not a belief")
    support, conflict = (
        _number(row[name], 1.0, "a stored probability is not in [0, 1]") for name in ("s", "f")
    )
    return Belief(row["a"], support, conflict, voices, documents, since)


def _time(value: Any) -> datetime:
    detail = "a stored time is no whole number of milliseconds that a calendar has"
    if type(value) is not int or value not in CALENDAR_MS:
        raise InputError(ReasonClass.OUT_OF_RANGE, detail)
    return time_at(value)


def _number(value: Any, most: float, detail: str) -> float:
    if type(value) not in (float, int) or not 0.0 <= value <= most:
        raise InputError(ReasonClass.OUT_OF_RANGE, detail)
    return float(value)
