"""A defence's state to and from the bytes of its row in the state table: about a hundred.

Floats keep every digit and text every character, so that a job that resumes from the row takes
the same decisions as one that was never stopped.
"""

import json
from datetime import datetime
from typing import Any

from radarstream.schemas.codec.wire import compact_json
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.memory import Belief, LastAnswer, StandingAnswer
from radarstream.schemas.times import CALENDAR_MS, milliseconds, time_at

STATE_VERSION = 2  # version 1 knows no standing answer

State = Belief | LastAnswer | None


def encode_state(state: State, standing: StandingAnswer | None = None) -> bytes:
    """`{"v":1,"a":answer,"s":support,"f":conflict}`, or `{"v":1}` for no state.

    The last answer of a lightweight history is `"p"`, beside what it wraps.
    With a standing answer, which makes the version 2, `"t"` is when it was confirmed, in
    milliseconds since 1970, and `"w"` its words where they are not those of `"a"`.
    """
    row: dict[str, object] = {"v": 1 if standing is None else STATE_VERSION}
    if isinstance(state, LastAnswer):
        row["p"] = state.answer
        state = state.inner
    if state is not None:
        row |= {"a": state.answer, "s": state.support, "f": state.conflict}
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
    if type(version) is not int or version != 1 + ("t" in row):
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
    if row.keys() != {"a", "s", "f"} or not isinstance(row["a"], str):
        raise InputError(ReasonClass.WRONG_TYPE, "the stored state is not a belief")
    support, conflict = (
        _number(row[name], 1.0, "a stored probability is not in [0, 1]") for name in ("s", "f")
    )
    return Belief(row["a"], support, conflict)


def _time(value: Any) -> datetime:
    detail = "a stored time is no whole number of milliseconds that a calendar has"
    if type(value) is not int or value not in CALENDAR_MS:
        raise InputError(ReasonClass.OUT_OF_RANGE, detail)
    return time_at(value)


def _number(value: Any, most: float, detail: str) -> float:
    if type(value) not in (float, int) or not 0.0 <= value <= most:
        raise InputError(ReasonClass.OUT_OF_RANGE, detail)
    return float(value)
