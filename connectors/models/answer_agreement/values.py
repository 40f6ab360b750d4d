"""Units of measure and money; numbers, dates and times of day as values that can be compared."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from math import isclose
from typing import ClassVar, Final, NamedTuple

from radarstream.connectors.models.answer_agreement.tables import PATTERNS, mapping, rows

ROUGH = 0.015  # "about 3.7 million" and "3.72 million" are one claim
ROUNDED = 0.0101  # 33 % for one third
CONVERTED = 0.006  # 5 km and 3.1 miles
CALENDAR = 1e-3  # a year and 365 days
EXACT = 1e-9
BOUND_MARKS = "<\u2264\u2265>"
_SIDE = {"": 0, "<": -1, "\u2264": -1, "\u2265": 1, ">": 1}  # of a number, where the value is
_KILOGRAMS = 0.45359237  # in a pound that is not money


class Unit(NamedTuple):
    """A number with this unit is `(number - zero) * factor` base units of the dimension.

    A currency is a dimension in capitals: nothing converts between two of them.
    """

    dimension: str
    factor: float = 1.0
    zero: float = 0.0


NO_UNIT: Final = Unit("")
_UNITS = [
    (Unit(dimension, float(factor), float(zero)), names, letters)
    for dimension, factor, zero, names, *letters in rows("units")
]
# Names in the singular, whatever their case.
NAMED: Final = {
    **{name: Unit(code) for code, *names in rows("currencies") for name in names},
    **{name: unit for unit, names, _ in _UNITS for name in names.split("|") if name},
    **{code.lower(): Unit(code) for code in mapping("codes")},
}
# Of these the case decides: "mW" and "MW", "g" and the "G" of "5G".
LETTERS: Final = {
    **{name: unit for unit, _, letters in _UNITS for each in letters for name in each.split("|")},
    **{code: Unit(code) for code, *_ in rows("currencies")},
}
_NAMES, _LETTERS = (
    "|".join(sorted(map(re.escape, names), key=len, reverse=True))
    for names in ([name for name in NAMED if name[-1].isalnum()], LETTERS)
)
PATTERNS["UNIT"] = rf"(?:(?:{_NAMES})s?|(?-i:{_LETTERS}))(?!\w)"


def unit_named(text: str) -> Unit:
    """The unit of that name, in the singular or as written; without dimension if there is none."""
    lowered = " ".join(text.casefold().split())
    return (
        LETTERS.get(text) or NAMED.get(lowered) or NAMED.get(lowered.removesuffix("s")) or NO_UNIT
    )


class Likeness(Enum):
    """What a premise and a hypothesis show, two answers or two values; of values the best first.

    Its value: the probabilities of entailment, neutral and contradiction, set by hand.
    """

    SAME = (0.9979, 0.0015, 0.0006)
    PREMISE_ADDS = (0.99, 0.008, 0.002)  # the premise says all of the hypothesis, and more
    HYPOTHESIS_ADDS = (0.53, 0.45, 0.02)  # most of what a page adds is agreement
    UNCOMMITTED = (0.0004, 0.9856, 0.0140)  # neither confirms nor excludes the other
    VALUES_DIFFER = (0.0005, 0.0005, 0.999)  # numbers, dates, given names, or yes against no
    WORDS_DIFFER = (0.001, 0.0001, 0.9989)  # no content word in common, or a number against a name
    HYPOTHESIS_LISTS_MORE = (0.0004, 0.9924, 0.0072)  # the premise is part of the list
    PHRASES_DIFFER = (0.1, 0.05, 0.85)  # short, with a word in common and others on both sides
    PARTLY_SHARED = (0.25, 0.4, 0.35)  # the same, but at least one is a sentence
    UNEXPLAINED = (0.3, 0.65, 0.05)  # alike, but for words that nobody knows to be harmless


AGREEING: Final = (
    Likeness.SAME,
    Likeness.PREMISE_ADDS,
    Likeness.HYPOTHESIS_ADDS,
    Likeness.HYPOTHESIS_LISTS_MORE,
)


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number. `stated` is in the unit it was written in, `value` in the base of `dimension`.

    `dimension` is "" for a bare count, else "percent", a currency or a physical dimension; `per` is
    the unit that a rate is per ("a day"). `bound` is a mark such as "<", or "" for the number
    itself; `rough` tells that it was said to be about so much, `long` that it has four decimals or
    more, as two thirds in digits, and may be what others round.
    """

    stated: float
    value: float
    dimension: str = ""
    rough: bool = False
    bound: str = ""
    per: Unit = NO_UNIT
    long: bool = False
    kind: ClassVar[str] = "number"

    def compare(self, other: "Quantity") -> Likeness:
        """Relate two numbers; a missing unit agrees with any unit, a missing "per" with any."""
        one, two = self._in_kind_of(other), other._in_kind_of(self)
        mine, theirs = one.value, two.value
        tolerance = self._tolerance(other)
        if one.dimension != two.dimension:
            mine, theirs = one.stated, two.stated
            if one.dimension and two.dimension:
                return Likeness.VALUES_DIFFER
            if one.dimension == "percent" and isclose(mine, 100.0 * theirs, rel_tol=tolerance):
                theirs *= 100.0
            elif two.dimension == "percent" and isclose(100.0 * mine, theirs, rel_tol=tolerance):
                mine *= 100.0
        if one.per.dimension == two.per.dimension:
            mine, theirs = mine / one.per.factor, theirs / two.per.factor
        elif one.per.dimension and two.per.dimension:
            return Likeness.VALUES_DIFFER
        elif isclose(mine, theirs, rel_tol=tolerance) and one.dimension.isupper():
            return Likeness.UNCOMMITTED
        if not isclose(mine, theirs, rel_tol=tolerance):
            return Likeness.VALUES_DIFFER
        return self._compare_bounds(other, mine, theirs)

    def _tolerance(self, other: "Quantity") -> float:
        """How far two numbers may be apart that are one claim, relative to the greater."""
        if self.rough or other.rough or self.bound or other.bound:
            return ROUGH
        if self.long != other.long:
            return ROUNDED
        converted = self.value * other.stated != other.value * self.stated
        if not converted or self.dimension != other.dimension:
            return EXACT
        return CALENDAR if self.dimension == "time" else CONVERTED

    def _in_kind_of(self, other: "Quantity") -> "Quantity":
        """A pound is money unless the other is a weight; degrees may be of any scale."""
        if self.dimension == "degrees" and other.dimension == "temperature":
            return replace(self, dimension="")
        if self.dimension == "cent" and other.dimension.isupper():
            return replace(self, dimension=other.dimension)
        if self.dimension != "pound":
            return self
        if other.dimension == "mass":
            return replace(self, value=self.value * _KILOGRAMS, dimension="mass")
        return replace(self, dimension="GBP")

    def _compare_bounds(self, other: "Quantity", mine: float, theirs: float) -> Likeness:
        if _SIDE[self.bound] == _SIDE[other.bound]:
            return Likeness.SAME
        if self.bound and other.bound:
            return Likeness.VALUES_DIFFER
        bound = self.bound or other.bound
        beyond = _SIDE[bound] * (theirs - mine if self.bound else mine - theirs)
        within = beyond > 0 or (beyond == 0 and bound in "\u2264\u2265")
        return (
            Likeness.UNCOMMITTED if within or self.rough or other.rough else Likeness.VALUES_DIFFER
        )


@dataclass(frozen=True, slots=True)
class Parts:
    """A value of several parts, of which some may be missing (None).

    `kind` is "date" (year, month, day), "time" (half of the day, minute of it: of "9:30" the half
    is missing) or "pair" (two numbers and their dimension: a score, a range, odds). `aside` marks
    "... in 1961", a date beside other words.
    """

    kind: str
    parts: tuple[float | str | None, ...]
    aside: bool = False
    bound: str = ""

    def compare(self, other: "Parts") -> Likeness:
        """Relate two values of one kind: any part given twice must agree.

        "9:30" leaves open what "9:30 am" decides; the unit that one pair leaves out is the other's.
        """
        both = [(a, b) for a, b in zip(self.parts, other.parts, strict=True) if None not in (a, b)]
        if _SIDE[self.bound] != _SIDE[other.bound] or any(a != b for a, b in both):
            return Likeness.VALUES_DIFFER
        adds = [sum(part is not None for part in v.parts) > len(both) for v in (self, other)]
        if all(adds) or not both:
            return Likeness.UNCOMMITTED
        if self.kind == "pair" or not any(adds):
            return Likeness.SAME
        if adds[0]:
            return Likeness.PREMISE_ADDS
        return Likeness.UNCOMMITTED if self.kind == "time" else Likeness.HYPOTHESIS_ADDS


Value = Quantity | Parts


def compare_values(premise: tuple[Value, ...], hypothesis: tuple[Value, ...]) -> Likeness:
    """Relate two answers by all the values they state.

    A value that meets comparable ones but never an equal one is a disagreement if that happens on
    both sides, whatever else agrees ("15% of 2,005 adults" against "32% of 2,005 adults").
    """
    table = [[compare_value(p, h) for h in hypothesis] for p in premise]
    rows = [_best(row) for row in table]
    columns = [_best([row[j] for row in table]) for j in range(len(hypothesis))]
    agreeing = {match for match in rows if match in AGREEING}
    if not agreeing:
        return _best(rows)
    if Likeness.VALUES_DIFFER in rows and Likeness.VALUES_DIFFER in columns:
        return Likeness.VALUES_DIFFER
    extra_premise = any(match not in AGREEING for match in rows)
    extra_hypothesis = any(match not in AGREEING for match in columns)
    if extra_premise != extra_hypothesis:
        return Likeness.PREMISE_ADDS if extra_premise else Likeness.HYPOTHESIS_ADDS
    finer = agreeing - {Likeness.SAME}
    return finer.pop() if len(finer) == 1 else Likeness.SAME


def _best(matches: list[Likeness]) -> Likeness:
    return min(matches, key=list(Likeness).index, default=Likeness.WORDS_DIFFER)


def compare_value(premise: Value, hypothesis: Value) -> Likeness:
    """Relate two values; of two kinds they differ as words do."""
    if premise.kind != hypothesis.kind:
        return Likeness.WORDS_DIFFER
    return premise.compare(hypothesis)  # type: ignore[arg-type]


def of_kind(kind: str, values: Iterable[Value]) -> list[Parts]:
    """The dates, times or pairs among some values."""
    return [v for v in values if isinstance(v, Parts) and v.kind == kind]


def is_share(value: Value) -> bool:
    """Whether a value is a percentage."""
    return isinstance(value, Quantity) and value.dimension == "percent"
