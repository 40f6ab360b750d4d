"""Numbers with units and calendar dates, as values that can be compared."""

import re
from dataclasses import dataclass
from enum import Enum

ROUGH_TOLERANCE = 0.015  # "about 3.7 million" and "3.72 million" are one claim
EXACT_TOLERANCE = 1e-4  # absorbs the decimals of one third


class Match(Enum):
    """How the values of a premise and a hypothesis relate."""

    SAME = "same"
    PREMISE_FINER = "premise_finer"
    HYPOTHESIS_FINER = "hypothesis_finer"
    DIFFERENT = "different"
    COMPATIBLE = "compatible"  # neither confirms nor excludes the other
    INCOMPARABLE = "incomparable"


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number. `stated` is in the unit it was written in, `value` in the base of `dimension`.

    `dimension` is "" for a bare count, else "percent", a currency, or a physical dimension.
    """

    stated: float
    value: float
    dimension: str = ""
    rough: bool = False

    def compare(self, other: "Quantity") -> Match:
        """Relate two numbers; a missing unit agrees with any unit."""
        tolerance = ROUGH_TOLERANCE if self.rough or other.rough else EXACT_TOLERANCE
        if self.dimension == other.dimension:
            return _same_or_different(close(self.value, other.value, tolerance))
        if self.dimension and other.dimension:
            both_money = self.dimension.isupper() and other.dimension.isupper()
            return Match.DIFFERENT if both_money else Match.INCOMPARABLE
        bare, united = (other, self) if self.dimension else (self, other)
        equal = close(bare.value, united.stated, tolerance) or (
            united.dimension == "percent" and close(bare.value * 100.0, united.stated, tolerance)
        )
        return _same_or_different(equal)


@dataclass(frozen=True, slots=True)
class PartialDate:
    """A calendar date of which some parts may be missing. `aside` marks "... in 1961"."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    aside: bool = False

    def compare(self, other: "PartialDate") -> Match:
        """Relate two dates: any part given twice must agree."""
        mine = (self.year, self.month, self.day)
        theirs = (other.year, other.month, other.day)
        both = [(a, b) for a, b in zip(mine, theirs, strict=True) if a is not None is not b]
        if any(a != b for a, b in both):
            return Match.DIFFERENT
        if not both:
            return Match.COMPATIBLE
        extra_mine = sum(part is not None for part in mine) - len(both)
        extra_theirs = sum(part is not None for part in theirs) - len(both)
        if extra_mine and extra_theirs:
            return Match.COMPATIBLE
        if extra_mine:
            return Match.PREMISE_FINER
        return Match.HYPOTHESIS_FINER if extra_theirs else Match.SAME


Value = Quantity | PartialDate


def compare_values(premise: tuple[Value, ...], hypothesis: tuple[Value, ...]) -> Match:
    """Relate two answers by all the values they state.

    A value that meets a comparable one of its own dimension but never an equal one is a
    disagreement, whatever else agrees ("15% of 2,005 adults" against "32% of 2,005 adults").
    """
    table = [[_compare(p, h) for h in hypothesis] for p in premise]
    rows = [_best(row) for row in table]
    columns = [_best([row[j] for row in table]) for j in range(len(hypothesis))]
    agreeing = [match for match in rows if match in _AGREEING]
    if not agreeing:
        return _best(rows)
    if Match.DIFFERENT in _lonely(premise, rows) and Match.DIFFERENT in _lonely(
        hypothesis, columns
    ):
        return Match.DIFFERENT
    extra_premise = any(match not in _AGREEING for match in rows)
    extra_hypothesis = any(match not in _AGREEING for match in columns)
    if extra_premise != extra_hypothesis:
        return Match.PREMISE_FINER if extra_premise else Match.HYPOTHESIS_FINER
    finer = {match for match in agreeing if match is not Match.SAME}
    return finer.pop() if len(finer) == 1 else Match.SAME


_AGREEING = (Match.SAME, Match.PREMISE_FINER, Match.HYPOTHESIS_FINER)
_PREFERENCE = (*_AGREEING, Match.COMPATIBLE, Match.DIFFERENT, Match.INCOMPARABLE)


def _best(matches: list[Match]) -> Match:
    return min(matches, key=_PREFERENCE.index, default=Match.INCOMPARABLE)


def _lonely(values: tuple[Value, ...], best: list[Match]) -> list[Match]:
    """Best matches of the values whose dimension has no agreement at all."""
    agreed = {_dimension(v) for v, m in zip(values, best, strict=True) if m in _AGREEING}
    return [m for v, m in zip(values, best, strict=True) if _dimension(v) not in agreed]


def _dimension(value: Value) -> str:
    return value.dimension if isinstance(value, Quantity) else "date"


def _compare(premise: Value, hypothesis: Value) -> Match:
    if isinstance(premise, PartialDate) and isinstance(hypothesis, PartialDate):
        return premise.compare(hypothesis)
    if isinstance(premise, Quantity) and isinstance(hypothesis, Quantity):
        return premise.compare(hypothesis)
    return Match.INCOMPARABLE


def _same_or_different(equal: bool) -> Match:
    return Match.SAME if equal else Match.DIFFERENT


def close(a: float, b: float, tolerance: float) -> bool:
    """Whether two numbers agree within a relative tolerance."""
    return abs(a - b) <= tolerance * max(abs(a), abs(b))


_MONTHS = "january february march april may june july august september october november december"
MONTH_NUMBER = {name: i for i, name in enumerate(_MONTHS.split(), start=1)}
MONTH_NUMBER |= {name[:3]: number for name, number in MONTH_NUMBER.items()} | {"sept": 9}
_MONTH = (
    "(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec)\b\.?"
)
_YEAR = r"(?:1[0-9]|20)\d\d"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_ASIDE = (
    r"(?P<aside>(?:\b(?:in|on|since|during|until|by|as of|from)\s+(?:early |late |mid-?)?|\())?"
)
_DATES = tuple(
    re.compile(_ASIDE + pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\d-])(?P<year>{_YEAR})-(?P<month>\d\d)-(?P<day>\d\d)(?![\d-])",
        rf"\b(?P<month>{_MONTH})\s+(?P<day>{_DAY})\b(?:,?\s+(?:of\s+)?(?P<year>{_YEAR})\b)?",
        rf"\b(?:the )?(?P<day>{_DAY})\s+(?:of\s+)?(?P<month>{_MONTH})(?:,?\s+(?P<year>{_YEAR})\b)?",
        rf"\b(?P<month>{_MONTH})\s*,?\s+(?:of\s+)?(?P<year>{_YEAR})\b",
    )
)
_BARE_YEAR = re.compile(
    _ASIDE + r"(?<![\w,.:$-])(?P<year>1[5-9]\d\d|20\d\d)(?![\d%:'-]|,\d|\.\d|s\b)\)?"
)
_BARE_MONTH = re.compile(_ASIDE + rf"\b(?P<month>{_MONTH})(?!\s*\d)")


def take_dates(text: str, *, bare_years: bool, bare_months: bool) -> tuple[list[PartialDate], str]:
    """Dates of a text, and the text with them blanked out."""
    found: list[PartialDate] = []

    def take(match: re.Match[str]) -> str:
        parts = match.groupdict()
        month = (parts.get("month") or "").rstrip(".").casefold()
        day = re.match(r"\d+", parts.get("day") or "")
        found.append(
            PartialDate(
                year=int(parts["year"]) if parts.get("year") else None,
                month=(int(month) if month.isdigit() else MONTH_NUMBER[month]) if month else None,
                day=int(day.group()) if day else None,
                aside=bool(parts.get("aside")),
            )
        )
        return " " * len(match.group())

    patterns = [*_DATES, *([_BARE_YEAR] * bare_years), *([_BARE_MONTH] * bare_months)]
    for pattern in patterns:
        text = pattern.sub(take, text)
    return found, text


_ROUGH = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|over|under|more than|less than"
    r"|at least|at most|up to|some|circa|greater than|in excess of|above|below)\s*$",
    re.IGNORECASE,
)
_CURRENCY = {"$": "USD", "\u00a3": "GBP", "\u20ac": "EUR", "\u00a5": "JPY", "\u20b9": "INR"}
_MAGNITUDE = {
    "hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "m": 1e6,
    "billion": 1e9, "bn": 1e9, "b": 1e9, "trillion": 1e12, "tn": 1e12,
}  # fmt: skip
_UNIT = {
    "%": ("percent", 1.0), "percent": ("percent", 1.0), "per cent": ("percent", 1.0),
    "pct": ("percent", 1.0), "percentage point": ("percent", 1.0),
    "dollar": ("USD", 1.0), "usd": ("USD", 1.0), "us dollar": ("USD", 1.0), "cent": ("USD", 0.01),
    "pound": ("GBP", 1.0), "gbp": ("GBP", 1.0), "euro": ("EUR", 1.0), "eur": ("EUR", 1.0),
    "yen": ("JPY", 1.0), "rupee": ("INR", 1.0),
    "second": ("time", 1.0), "minute": ("time", 60.0), "hour": ("time", 3600.0),
    "day": ("time", 86_400.0), "week": ("time", 604_800.0), "month": ("time", 2_629_800.0),
    "year": ("time", 31_557_600.0), "decade": ("time", 0.0), "century": ("time", 0.0),
    "centurie": ("time", 0.0),
    "millimetre": ("length", 0.001), "millimeter": ("length", 0.001), "mm": ("length", 0.001),
    "centimetre": ("length", 0.01), "centimeter": ("length", 0.01), "cm": ("length", 0.01),
    "metre": ("length", 1.0), "meter": ("length", 1.0),
    "kilometre": ("length", 1000.0), "kilometer": ("length", 1000.0), "km": ("length", 1000.0),
    "mile": ("length", 1609.344), "foot": ("length", 0.3048), "feet": ("length", 0.3048),
    "inch": ("length", 0.0254), "inche": ("length", 0.0254), "yard": ("length", 0.9144),
    "gram": ("mass", 0.001), "kg": ("mass", 1.0), "kilogram": ("mass", 1.0),
    "tonne": ("mass", 1000.0), "ton": ("mass", 907.18474), "ounce": ("mass", 0.0283495),
}  # fmt: skip
_YEARS = {"decade": 10.0, "century": 100.0, "centurie": 100.0}  # stated in years
_UNIT_PATTERN = "|".join(sorted((re.escape(unit) for unit in _UNIT if unit != "%"), key=len)[::-1])
_NUMBER = re.compile(
    r"(?<![\w.:])(?<!\w-)(?:(?:US|U\.S\.|C|A)?(?P<currency>[$\u00a3\u20ac\u00a5\u20b9])\s?)?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?![:\d]|-\d|,\d{3})"
    r"(?:(?:st|nd|rd|th)\b)?"
    r"(?:\s?-?(?P<word>hundred|thousand|million|billion|trillion)\b|(?P<letter>k|mn|bn|tn|m|b)\b)?"
    rf"(?:\s?(?P<sign>%)|[\s-]+(?P<unit>{_UNIT_PATTERN})s?\b)?",
    re.IGNORECASE,
)


def take_quantities(text: str) -> tuple[list[Quantity], str]:
    """Numbers of a text whose number words are digits already, and the text with them blanked."""
    found: list[Quantity] = []

    def take(match: re.Match[str]) -> str:
        letter = (match["letter"] or "").casefold()
        if letter == "m" and not match["currency"]:
            return match.group()  # metres or millions: leave it a word
        scale = _MAGNITUDE.get((match["word"] or letter).casefold(), 1.0)
        unit = match["sign"] or (match["unit"] or "").casefold()
        dimension, factor = _UNIT.get(unit, ("", 1.0))
        years = _YEARS.get(unit)
        if years:
            scale, factor = scale * years, _UNIT["year"][1]
        stated = float(match["digits"].replace(",", "")) * scale
        if match["currency"]:
            dimension, factor = _CURRENCY[match["currency"]], 1.0
        rough = bool(_ROUGH.search(text[: match.start()]))
        found.append(Quantity(stated, stated * factor, dimension, rough))
        return " " * len(match.group())

    return found, _NUMBER.sub(take, text)
