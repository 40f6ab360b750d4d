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
from radarstream.schemas.memory import Belief, LastAnswer
from radarstream.schemas.times import milliseconds, time_at

STATE_VERSION = 1
TIMED_VERSION = 2  # version 1 and the time of the voices

_COUNTS = {
    "n": "stored voices are not a finite number >= 0",
    "d": "stored documents are not a finite number >= 0",
}

State = Belief | LastAnswer | None


def encode_state(state: State) -> bytes:
    """`{"v":1,"a":answer,"s":support,"f":conflict}`, or `{"v":1}` for no state.

    Voices are `"n"`, where there are any. A row of version 2 also has the documents, `"d"`, and
    says since when, `"t"` in milliseconds since 1970.
    The last answer of a lightweight history is `"p"`, beside what it wraps.
    """
    row: dict[str, object] = {"v": STATE_VERSION}
    if isinstance(state, LastAnswer):
        row["p"] = state.answer
        state = state.inner
    if state is not None:
        row |= {"a": state.answer, "s": state.support, "f": state.conflict}
        if state.voices:
            row["n"] = state.voices
        if state.confirmed_at is not None:
            since = milliseconds(state.confirmed_at)
            row |= {"v": TIMED_VERSION, "d": state.documents, "t": since}
    return compact_json(row).encode("utf-8", "surrogatepass")


def decode_state(data: bytes) -> State:
    """Inverse of `encode_state`. Raises InputError for another version or a damaged row."""
    try:
        row = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise InputError(ReasonClass.MALFORMED_JSON, "the stored state is not JSON") from None
    version = row.pop("v", None) if isinstance(row, dict) else None
    if version not in (STATE_VERSION, TIMED_VERSION) or ("t" in row) != (version == TIMED_VERSION):
        raise InputError(
            ReasonClass.UNKNOWN_SCHEMA,
            f"the stored state is not of version {STATE_VERSION} or {TIMED_VERSION}",
        )
    if "p" not in row:
        return _belief(row)
    answer = row.pop("p")
    if not isinstance(answer, str | None):
        raise InputError(ReasonClass.WRONG_TYPE, "the stored last answer is not text")
    return LastAnswer(answer, _belief(row))


def _belief(row: dict[str, Any]) -> Belief | None:
    if not row:
        return None
    voices, documents = (
        _number(row.pop(name, 0.0), float_info.max, detail) for name, detail in _COUNTS.items()
    )
    since = _time(row.pop("t")) if "t" in row else None
    if row.keys() != {"a", "s", "f"} or not isinstance(row["a"], str):
        raise InputError(ReasonClass.WRONG_TYPE, "the stored state is not a belief")
    support, conflict = (
        _number(row[name], 1.0, "a stored probability is not in [0, 1]") for name in ("s", "f")
    )
    return Belief(row["a"], support, conflict, voices, documents, since)


def _time(value: Any) -> datetime:
    detail = "the stored time is no whole number of milliseconds that a calendar has"
    if type(value) is not int:
        raise InputError(ReasonClass.WRONG_TYPE, detail)
    try:
        return time_at(value)
    except OverflowError:
        raise InputError(ReasonClass.OUT_OF_RANGE, detail) from None


def _number(value: Any, most: float, detail: str) -> float:
    if type(value) not in (float, int) or not 0.0 <= value <= most:
        raise InputError(ReasonClass.OUT_OF_RANGE, detail)
    return float(value)
