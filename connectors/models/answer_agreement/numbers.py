"""Numbers in words and other forms: "two and a half", "one in four", "Henry VIII"."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from text_to_num import alpha2digit

from radarstream.connectors.models.answer_agreement.tables import in_order, mapping, pattern

_MASK, _MASKED = "\ue000", re.compile("\ue000(.)")


@lru_cache(maxsize=65_536)
def in_digits(text: str) -> str:
    """Write number words as digits; "one" is left alone where it counts nothing ("no one").

    >>> in_digits("two hundred and five"), in_digits("no one"), in_digits("2.5 million")
    ('205', 'no one', '2500000')
    """
    text = pattern("SCALED").sub(_scaled, text)
    if not re.search(r"[^\W\d]{3}", text):
        return text
    text = pattern("NOT_COUNTING").sub(lambda m: "".join(f"{_MASK}{c}" for c in m[0]), text)
    text = pattern("SPOKEN_SCORE").sub(r"\1 - \2", text)
    spelt = alpha2digit(pattern("NUMBER_AND_WORD").sub(r"\1 ", text), "en", 0)
    return _MASKED.sub(r"\1", spelt)


def _scaled(match: re.Match[str]) -> str:
    number = float((match[1] or "1").replace(",", "")) * float(mapping("scales")[match[3].lower()])
    return f"{number:.0f}" if number == int(number) else repr(number)


_ROMAN = re.compile(r"(?=[MDCLXVI])M*(?:C[MD]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})")
_ROMAN_DIGIT = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}


def read_roman(text: str) -> float | None:
    """Value of a text that is one Roman numeral in capitals, else None.

    >>> read_roman("XIV"), read_roman("IIII"), read_roman("mix")
    (14.0, None, None)
    """
    if not _ROMAN.fullmatch(text):
        return None
    digits = [_ROMAN_DIGIT[letter] for letter in text]
    return float(sum(-d if d < max(digits[i:]) else d for i, d in enumerate(digits)))


_AMOUNT_BEFORE = re.compile(r"\d[\w.,%]*(?:\s[^\d\s]+)?\s$")


def _numbered(match: re.Match[str]) -> str:
    """Henry VIII and Henry the Eighth as Henry 8."""
    roman = read_roman(match[match.lastindex or 0].upper())
    number = in_digits(match[2].lower()).rstrip("stndrh") if roman is None else roman
    return f"{match[1]} {int(number)}"


def _and_a_half(match: re.Match[str]) -> str:
    count = int(match[1]) if match[1].isdigit() else 1
    return f"{count + 0.5} {match[2]}"


def _fraction(match: re.Match[str]) -> str:
    count = float(1 if match["count"].lower() in ("a", "an") else in_digits(match["count"]))
    part = count / int(mapping("parts")[match["part"].lower()])
    if match["whole"]:
        return f"{float(in_digits(match['whole'])) + part:.6g} {match['unit'] or ''}"
    return f"{part:.6g} {match['unit']}" if match["unit"] else f"{100 * part:.6g}% "


def _share(match: re.Match[str]) -> str:
    part, whole = int(match[1]), int(match[2].replace(",", ""))
    return f"{100 * part / whole:.6g}%" if part < whole else match.group()


def _rate(match: re.Match[str]) -> str:
    """How often something happens, as one word: "twice a week", "every other day"."""
    parts = match.groupdict()
    if not parts.get("once") and _AMOUNT_BEFORE.search(match.string[: match.start()]):
        return match.group()
    once = (parts.get("once") or "once").lower()
    times = float(parts.get("n") or {"once": 1, "twice": 2, "thrice": 3}.get(once, 1))
    unit = (parts["unit"] or mapping("adverbs")[parts["adverb"].lower()]).lower()
    every = (parts.get("every") or "1").lower()
    span = 2 if every in ("other", "second") else int(every)
    rate = f"rate{1e6 * times / (max(span, 1) * int(mapping('seconds')[unit])):.5g}"
    return rate.replace(".", "_").replace("+", "")


def _tens(word: str) -> int:
    return in_order("tens").index(f"{word.lower()}ty") + 2


def _ordinal(word: str) -> int:
    return in_order("ordinals").index(word.lower()) + 1


FUNCTIONS: Final[dict[str, Callable[..., str]]] = {
    "numbered": _numbered,
    "day_of": lambda m: in_digits(m[1] or f"the {m[2]}") + " ",
    "and_a_half": _and_a_half,
    "fraction": _fraction,
    "in_digits": lambda m: in_digits(m[0]),
    "dozens": lambda m: f"{12 * int(m[1] or 1)}",
    "decade_of": lambda m: f"{int(m[2]) - 1}{_tens(m[1])}0s",
    "together": lambda how, m: f"{int(how.split()[0]) * int(m[1]) + int(m[2])} {how.split()[1]}",
    "coins": lambda m: f"{m[1]}.{m[3]:0>2} {m[2]}",
    "mixed": lambda m: f"{int(m[1]) + int(m[2]) / int(m[3]):.6g}",
    "share": _share,
    "rate": _rate,
    "century": lambda m: f"the {int(m[1]) + 1}th century",
    "tens_th": lambda m: (
        f"{10 * _tens(m[1][:-2]) + in_order('ordinals').index(m[2].lower()) + 1}th"
    ),
    "spoken_year": lambda m: in_digits(m[1]) + in_digits(m[2]),
    "roman_century": lambda m: f"{read_roman(m[1]) or 0:.0f}th ",
    "decade": lambda century, m: f"the {century}{_tens(m[1])}0s",
}
