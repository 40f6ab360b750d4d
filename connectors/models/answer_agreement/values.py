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


class Match(Enum):
    """How the values of a premise and a hypothesis relate, the best first."""

    SAME = "same"
    PREMISE_FINER = "premise_finer"
    HYPOTHESIS_FINER = "hypothesis_finer"
    COMPATIBLE = "compatible"  # neither confirms nor excludes the other
    DIFFERENT = "different"
    INCOMPARABLE = "incomparable"


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

    def compare(self, other: "Quantity") -> Match:
        """Relate two numbers; a missing unit agrees with any unit, a missing "per" with any."""
        one, two = self._in_kind_of(other), other._in_kind_of(self)
        mine, theirs = one.value, two.value
        tolerance = self._tolerance(other)
        if one.dimension != two.dimension:
            mine, theirs = one.stated, two.stated
            if one.dimension and two.dimension:
                return Match.DIFFERENT
            if one.dimension == "percent" and isclose(mine, 100.0 * theirs, rel_tol=tolerance):
                theirs *= 100.0
            elif two.dimension == "percent" and isclose(100.0 * mine, theirs, rel_tol=tolerance):
                mine *= 100.0
        if one.per.dimension == two.per.dimension:
            mine, theirs = mine / one.per.factor, theirs / two.per.factor
        elif one.per.dimension and two.per.dimension:
            return Match.DIFFERENT
        elif isclose(mine, theirs, rel_tol=tolerance) and one.dimension.isupper():
            return Match.COMPATIBLE
        if not isclose(mine, theirs, rel_tol=tolerance):
            return Match.DIFFERENT
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

    def _compare_bounds(self, other: "Quantity", mine: float, theirs: float) -> Match:
        if _SIDE[self.bound] == _SIDE[other.bound]:
            return Match.SAME
        if self.bound and other.bound:
            return Match.DIFFERENT
        bound = self.bound or other.bound
        beyond = _SIDE[bound] * (theirs - mine if self.bound else mine - theirs)
        within = beyond > 0 or (beyond == 0 and bound in "\u2264\u2265")
        return Match.COMPATIBLE if within or self.rough or other.rough else Match.DIFFERENT


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

    def compare(self, other: "Parts") -> Match:
        """Relate two values of one kind: any part given twice must agree.

        "9:30" leaves open what "9:30 am" decides; the unit that one pair leaves out is the other's.
        """
        both = [(a, b) for a, b in zip(self.parts, other.parts, strict=True) if None not in (a, b)]
        if _SIDE[self.bound] != _SIDE[other.bound] or any(a != b for a, b in both):
            return Match.DIFFERENT
        adds = [sum(part is not None for part in v.parts) > len(both) for v in (self, other)]
        if all(adds) or not both:
            return Match.COMPATIBLE
        if self.kind == "pair" or not any(adds):
            return Match.SAME
        if adds[0]:
            return Match.PREMISE_FINER
        return Match.COMPATIBLE if self.kind == "time" else Match.HYPOTHESIS_FINER


Value = Quantity | Parts


def compare_values(premise: tuple[Value, ...], hypothesis: tuple[Value, ...]) -> Match:
    """Relate two answers by all the values they state.

    A value that meets comparable ones but never an equal one is a disagreement if that happens on
    both sides, whatever else agrees ("15% of 2,005 adults" against "32% of 2,005 adults").
    """
    table = [[compare_value(p, h) for h in hypothesis] for p in premise]
    rows = [_best(row) for row in table]
    columns = [_best([row[j] for row in table]) for j in range(len(hypothesis))]
    agreeing = {match for match in rows if match in _AGREEING}
    if not agreeing:
        return _best(rows)
    if Match.DIFFERENT in rows and Match.DIFFERENT in columns:
        return Match.DIFFERENT
    extra_premise = any(match not in _AGREEING for match in rows)
    extra_hypothesis = any(match not in _AGREEING for match in columns)
    if extra_premise != extra_hypothesis:
        return Match.PREMISE_FINER if extra_premise else Match.HYPOTHESIS_FINER
    finer = agreeing - {Match.SAME}
    return finer.pop() if len(finer) == 1 else Match.SAME


_AGREEING = (Match.SAME, Match.PREMISE_FINER, Match.HYPOTHESIS_FINER)


def _best(matches: list[Match]) -> Match:
    return min(matches, key=list(Match).index, default=Match.INCOMPARABLE)


def compare_value(premise: Value, hypothesis: Value) -> Match:
    """Relate two values; those of two kinds are incomparable."""
    if premise.kind != hypothesis.kind:
        return Match.INCOMPARABLE
    return premise.compare(hypothesis)  # type: ignore[arg-type]


def of_kind(kind: str, values: Iterable[Value]) -> list[Parts]:
    """The dates, times or pairs among some values."""
    return [v for v in values if isinstance(v, Parts) and v.kind == kind]


def is_share(value: Value) -> bool:
    """Whether a value is a percentage."""
    return isinstance(value, Quantity) and value.dimension == "percent"
