"""Parses untrusted bytes as a JSON object.

Stricter than `json.loads`: refuses NaN, Infinity and floats that overflow, integers that other JSON
readers cannot hold, repeated names, deep nesting and forbidden characters.
"""

import json
from math import isinf
from typing import Any, NoReturn

from radarstream.schemas.codec.text import FORBIDDEN, is_surrogate
from radarstream.schemas.errors import InputError, ReasonClass

JsonObject = dict[str, Any]

LARGEST_INTEGER = 2**53 - 1  # what a reader with double-precision numbers holds exactly
MAX_DEPTH = 32  # our deepest payload needs 7


def parse_object(data: bytes, *, max_bytes: int) -> JsonObject:
    """Parse one UTF-8 JSON object of at most `max_bytes`. Raises InputError and nothing else."""
    if len(data) > max_bytes:
        raise InputError(
            ReasonClass.OVERSIZED_RECORD, f"{len(data)} bytes, the limit is {max_bytes}"
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(ReasonClass.INVALID_ENCODING, f"not UTF-8 at byte {error.start}") from None
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        what = error.msg.removesuffix(" at")  # "Unterminated string starting at"
        raise InputError(ReasonClass.MALFORMED_JSON, f"{what} at character {error.pos}") from None
    except RecursionError:
        raise _too_deep() from None
    if not isinstance(value, dict):
        raise InputError(ReasonClass.WRONG_TYPE, "the record is not a JSON object")
    _check_depth_and_text(value)
    return value


def _check_depth_and_text(value: JsonObject) -> None:
    level: list[Any] = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for node in level:
            if isinstance(node, str):
                _check_text(node)
            elif isinstance(node, dict):
                below.extend(node)
                below.extend(node.values())
            elif isinstance(node, list):
                below.extend(node)
        if not below:
            return
        level = below
    raise _too_deep()


def _check_text(text: str) -> None:
    found = FORBIDDEN.search(text)
    if found is None:
        return
    code = f"U+{ord(found.group()):04X}"
    if is_surrogate(found.group()):
        raise InputError(ReasonClass.INVALID_ENCODING, f"lone surrogate {code} in a string")
    raise InputError(ReasonClass.CONTROL_CHARACTER, f"{code} in a string")


def _too_deep() -> InputError:
    return InputError(ReasonClass.MALFORMED_JSON, f"nested more than {MAX_DEPTH} levels deep")


def _without_repeats(pairs: list[tuple[str, Any]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InputError(ReasonClass.MALFORMED_JSON, "an object repeats a name")
    return value


def _integer(digits: str) -> int:
    # Length first: int() refuses more than 4,300 digits and takes quadratic time below that.
    if len(digits) > 17 or abs(int(digits)) > LARGEST_INTEGER:
        raise InputError(ReasonClass.OUT_OF_RANGE, f"integer of {len(digits)} digits is too large")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if isinf(value):
        raise InputError(ReasonClass.NOT_FINITE, "a number overflows")
    return value


def _constant(name: str) -> NoReturn:
    raise InputError(ReasonClass.NOT_FINITE, f"{name} is not a JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_without_repeats,
    parse_int=_integer,
    parse_float=_number,
    parse_constant=_constant,
)
