"""Encodes a defence's state for its row in the state table, in about a hundred bytes.

Floats and texts are exact, so that a job that resumes from the row decides as one that never
stopped.
"""

import json
from datetime import datetime
from typing import Any

from radarstream.schemas.codec.wire import compact_json
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.memory import Belief, LastAnswer, StandingAnswer
from radarstream.schemas.times import CALENDAR_MS, milliseconds, time_at

STATE_VERSION = 1

State = Belief | LastAnswer | None


def encode_state(state: State, standing: StandingAnswer | None = None) -> bytes:
    """Return JSON: `{"v":1,"a":answer,"s":support,"f":conflict}`, or `{"v":1}` for no state.

    `"c"`: when an answer that fades was confirmed. `"p"`: the answer of `LastAnswer`. `"t"`: when
    the standing answer was confirmed; `"w"`: its text if that is not `"a"`. Times are in
    milliseconds since 1970.
    """
    row: dict[str, object] = {"v": STATE_VERSION}
    if isinstance(state, LastAnswer):
        row["p"] = state.answer
        state = state.inner
    if state is not None:
        row |= {"a": state.answer, "s": state.support, "f": state.conflict}
        if state.confirmed_at is not None:
            row["c"] = milliseconds(state.confirmed_at)
    if standing is not None:
        at = standing.confirmed_at
        row["t"] = None if at is None else milliseconds(at)
        if row.get("a") != standing.answer:
            row["w"] = standing.answer
    return compact_json(row).encode("utf-8", "surrogatepass")


def decode_stored(data: bytes) -> tuple[State, StandingAnswer | None]:
    """Invert `encode_state`. Raises InputError for another version or a damaged row."""
    try:
        row = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise InputError(ReasonClass.MALFORMED_JSON, "the stored state is not JSON") from None
    version = row.pop("v", None) if isinstance(row, dict) else None
    if type(version) is not int or version != STATE_VERSION:
        detail = f"the stored state is not of version {STATE_VERSION}"
        raise InputError(ReasonClass.UNKNOWN_SCHEMA, detail)
    standing = _standing(row) if "t" in row else None
    if "p" not in row:
        return _belief(row), standing
    answer = row.pop("p")
    if not isinstance(answer, str | None):
        raise InputError(ReasonClass.WRONG_TYPE, "the stored last answer is not text")
    return LastAnswer(answer, _belief(row)), standing


def _standing(row: dict[str, Any]) -> StandingAnswer:
    """Take the standing answer out of a row."""
    words, at_ms = row.pop("w", row.get("a")), row.pop("t")
    if not isinstance(words, str):
        raise InputError(ReasonClass.WRONG_TYPE, "the stored standing answer is not text")
    return StandingAnswer(words, None if at_ms is None else _time(at_ms))


def _belief(row: dict[str, Any]) -> Belief | None:
    if not row:
        return None
    confirmed_at = _time(row.pop("c")) if "c" in row else None
    if row.keys() != {"a", "s", "f"} or not isinstance(row["a"], str):
        raise InputError(ReasonClass.WRONG_TYPE, "the stored state is not a belief")
    return Belief(row["a"], _probability(row["s"]), _probability(row["f"]), confirmed_at)


def _time(value: Any) -> datetime:
    if type(value) is not int or value not in CALENDAR_MS:
        detail = "a stored time is not a whole number of milliseconds in the years 1 to 9999"
        raise InputError(ReasonClass.OUT_OF_RANGE, detail)
    return time_at(value)


def _probability(value: Any) -> float:
    if type(value) not in (float, int) or not 0.0 <= value <= 1.0:
        raise InputError(ReasonClass.OUT_OF_RANGE, "a stored probability is not in [0, 1]")
    return float(value)
