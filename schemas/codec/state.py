"""A defence's state to and from the bytes of its row in the state table: about a hundred.

Floats keep every digit and text every character, so that a job that resumes from the row takes
the same decisions as one that was never stopped.
"""

import json
from sys import float_info
from typing import Any

from radarstream.schemas.codec.wire import compact_json
from radarstream.schemas.errors import InputError, ReasonClass
from radarstream.schemas.memory import Belief, LastAnswer

STATE_VERSION = 1

State = Belief | LastAnswer | None


def encode_state(state: State) -> bytes:
    """`{"v":1,"a":answer,"s":support,"f":conflict}`, or `{"v":1}` for no state.

    Voices are `"n"`, where there are any.
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
    return compact_json(row).encode("utf-8", "surrogatepass")


def decode_state(data: bytes) -> State:
    """Inverse of `encode_state`. Raises InputError for another version or a damaged row."""
    try:
        row = json.loads(data.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise InputError(ReasonClass.MALFORMED_JSON, "the stored state is not JSON") from None
    if not isinstance(row, dict) or row.pop("v", None) != STATE_VERSION:
        raise InputError(
            ReasonClass.UNKNOWN_SCHEMA, f"the stored state is not of version {STATE_VERSION}"
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
    voices = row.pop("n", 0.0)
    if row.keys() != {"a", "s", "f"} or not isinstance(row["a"], str):
        raise InputError(ReasonClass.WRONG_TYPE, "the stored state is not a belief")
    support, conflict = (
        _number(row[name], 1.0, "a stored probability is not in [0, 1]") for name in ("s", "f")
    )
    voices = _number(voices, float_info.max, "stored voices are not a finite number >= 0")
    return Belief(row["a"], support, conflict, voices)


def _number(value: Any, most: float, detail: str) -> float:
    if type(value) not in (float, int) or not 0.0 <= value <= most:
        raise InputError(ReasonClass.OUT_OF_RANGE, detail)
    return float(value)
