"""Numbers with their units, calendar dates, times of day and pairs, taken out of a text."""

import re
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from radarstream.connectors.models.answer_agreement import values
from radarstream.connectors.models.answer_agreement.tables import (
    mapping,
    pattern,
    pattern_names,
)

_SPEEDS = frozenset(("mph", "kph", "knot", "knots"))
_NEAR = 60  # characters before a number in which "fell by about" may stand
_CENTURY = 50  # years of two digits from here on are of the last century
_Value = TypeVar("_Value")


class Sought(NamedTuple):
    """What a question says of the numbers of its answers.

    With `of_a_fall` a rise is negative, else a fall is. `unit` is that of numbers without one,
    `per` what they are per; with `counts` a number is one of people or things.
    """

    of_a_fall: bool = False
    unit: values.Unit | None = None
    per: values.Unit = values.NO_UNIT
    counts: bool = False


_NOTHING = Sought()


def _take(
    name: str, text: str, parse: Callable[[re.Match[str]], _Value | None]
) -> tuple[list[_Value], str]:
    """The values of the matches of a pattern, and the text with those blanked that have one."""
    taken: list[_Value] = []

    def take(match: re.Match[str]) -> str:
        value = parse(match)
        taken.extend(() if value is None else (value,))
        return match.group() if value is None else " " * len(match.group())

    return taken, pattern(name).sub(take, text)


def take_quantities(text: str, sought: Sought = _NOTHING) -> tuple[list[values.Quantity], str]:
    """Numbers of a text whose number words are digits already, and the text with them blanked.

    >>> take_quantities("5 km")[0][0].value, take_quantities("it fell 5%")[0][0].value
    (5000.0, -5.0)
    """
    if not pattern("DIGIT").search(text):
        return [], text
    return _take("QUANTITY", text, lambda match: _quantity(match, sought))


def _quantity(match: re.Match[str], sought: Sought) -> values.Quantity | None:
    letter, money = (match["letter"] or "").casefold(), match["currency"] or match["code"]
    if letter == "m" and not (money or sought.counts):
        return None  # metres or millions: leave it a word
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    way = "ROSE" if sought.of_a_fall else "FELL"
    fell = not match["ordinal"] and (
        pattern(f"{way}_BEFORE").search(before)
        or pattern(f"{way}_AFTER").match(match.string[match.end() :])
    )
    measure = _unit_of(match) or sought.unit or values.NO_UNIT
    digits = match["digits"].replace(",", "")
    whole = (sought.counts and not measure.dimension) or measure.dimension.isupper()
    if whole and pattern("POINT_FOR_THOUSANDS").fullmatch(digits):
        digits = digits.replace(".", "")
    number = float(digits) * float(mapping("scales").get(letter, 1))
    number = -number if match["minus"] or fell else number
    if match["ordinal"] and measure.dimension == "time":
        measure = values.Unit(f"{(match['unit'] or '').casefold()} by number")  # "the 19th century"
    return values.Quantity(
        number,
        (number - measure.zero) * measure.factor,
        measure.dimension,
        rough=bool(pattern("ROUGH").search(before)),
        bound=match["bound"] or "",
        per=_per_of(match) or sought.per,
        long=bool(pattern("LONG").search(digits)),
    )


def _unit_of(match: re.Match[str]) -> values.Unit | None:
    """The unit of a number; a currency's name or code behind it goes before its sign."""
    signs = mapping("currency_signs")
    name = match["sign"] or match["unit"] or match["code"] or match["degrees"]
    named = values.unit_named(signs.get(name, name)) if name else None
    if not match["currency"] or (named is not None and named.dimension.isupper()):
        return named
    country = (match["country"] or "US").replace(".", "")
    if match["currency"] == "$" and country != "US":
        return values.Unit(mapping("dollars").get(country, f"{country}$"))
    return values.Unit(signs[match["currency"]])


def _per_of(match: re.Match[str]) -> values.Unit | None:
    """What a rate is per; a speed such as "mph" is in metres a second."""
    if (match["unit"] or "").casefold() in _SPEEDS:
        return values.NAMED["second"]
    per = match["per"] or mapping("adverbs").get((match["rate"] or "").casefold())
    return values.unit_named(per) if per else None


def take_dates(text: str, *kinds: str) -> tuple[list[values.Parts], str]:
    """Dates of a text, and the text with them blanked out.

    `kinds` are what their patterns' names begin with: DATE_, SHORT_DATE_ (04/2021), BARE_YEAR and
    BARE_MONTH, in the order in which they are looked for.
    """
    taken = list[values.Parts]()
    for name in (name for kind in kinds for name in pattern_names(kind)):
        dates, text = _take(name, text, _date)
        taken += dates
    return taken, text


def _date(match: re.Match[str]) -> values.Parts | None:
    parts = match.groupdict()
    day = re.match(r"\d+", parts.get("day") or "")
    year = int(parts["year"]) if parts.get("year") else None
    if year is not None and year < 100:
        year += 2000 if year < _CENTURY else 1900
    numbers = _month_and_day(parts.get("month"), int(day[0]) if day else None, match)
    before = match.string[max(0, match.start() - 10) : match.start()]
    bound = pattern("BOUND_BEFORE").search(before)
    return numbers and values.Parts(
        "date",
        (-year if year and parts.get("minus") else year, *numbers),
        aside=bool(parts.get("aside")),
        bound=bound[1] if bound else "",
    )


def _month_and_day(
    named: str | None, day: int | None, match: re.Match[str]
) -> tuple[int | None, int | None] | None:
    """Month and day of a date; None where they are none, or where either may be the month."""
    if named is None:
        return None, day
    if not named.isdigit():
        return int(mapping("months")[named.title().rstrip(".")]), day
    month = int(named)
    if day is None:
        return month, None
    first_is_day = match.start("day") < match.start("month")
    if first_is_day and month > 12 >= day:
        month, day = day, month
    elif first_is_day and "/" in match[0] and month != day <= 12:
        return None
    return (month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


def take_times(text: str, *, bare_times: bool) -> tuple[list[values.Parts], str]:
    """Times of day of a text whose number words are digits, and the text with them blanked out.

    With `bare_times` also those like "9:30", which may be a verse or a score beside other words.
    """
    text = pattern("HOUR_WORD").sub(lambda word: mapping("hours")[word[1].lower()], text)
    return _take("CLOCK_TIME", text, lambda match: _time(match, bare=bare_times))


def _time(match: re.Match[str], *, bare: bool) -> values.Parts | None:
    hour, half = int(match["hour"]), match["am"] or match["pm"]
    if not (half or match["clock"] or (bare and ":" in match.group())):
        return None
    known = half or hour > 12 or match["hour"].startswith("0")
    if half and hour <= 12:
        hour = hour % 12 + 12 * bool(match["pm"])
    parts = (hour // 12 % 2 if known else None, hour % 12 * 60 + int(match["minute"] or 0))
    return values.Parts("time", parts, bound=match["bound"] or "")


def take_pairs(text: str) -> tuple[list[values.Parts], str]:
    """Scores, ranges and ratios of a text, and the text with them blanked out."""
    return _take("PAIR", text, _pair) if pattern("DIGIT").search(text) else ([], text)


def _pair(match: re.Match[str]) -> values.Parts | None:
    spanned = match.group().lower().startswith(("between", "from"))
    if (match["and"] and not spanned) or pattern("CLOCK_BEHIND").match(match.string, match.end()):
        return None
    units = [values.unit_named(match[name] or "") for name in ("au", "bu")]
    used = [u if u.dimension else units[1 - i] for i, u in enumerate(units)]
    numbers = [float(match[name].replace(",", "")) for name in ("a", "b")]
    if 1000 <= numbers[0] < 2100 and 10 <= numbers[1] < 100 and not used[0].dimension:
        numbers[1] += numbers[0] // 100 * 100  # 1914-18
    first, second = (round(n * u.factor, 9) for n, u in zip(numbers, used, strict=True))
    return values.Parts("pair", (first, second, used[0].dimension or None))
