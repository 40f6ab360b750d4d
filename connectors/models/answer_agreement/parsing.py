"""Numbers with their units, calendar dates and times of day, taken out of a text."""

import re

from radarstream.connectors.models.answer_agreement.tables import (
    in_order,
    mapping,
    pattern,
    pattern_names,
)
from radarstream.connectors.models.answer_agreement.values import (
    NAMED,
    NO_UNIT,
    ClockTime,
    Pair,
    PartialDate,
    Quantity,
    Unit,
    unit_named,
)

_SPEEDS = frozenset(("mph", "kph", "knot", "knots"))
_NEAR = 60  # characters before a number in which "fell by about" may stand


def asks_for_a_fall(question: str) -> bool:
    """Whether a question asks by how much something fell, so that its answers need not say so."""
    return bool(pattern("FALLS").search(question)) and not pattern("RISES").search(question)


def take_quantities(
    text: str,
    *,
    of_a_fall: bool = False,
    unit: Unit | None = None,
    per: Unit = NO_UNIT,
    counts: bool = False,
) -> tuple[list[Quantity], str]:
    """Numbers of a text whose number words are digits already, and the text with them blanked.

    With `of_a_fall` a rise is negative, else a fall is. `unit` is that of numbers without one;
    with `counts` a number is one of people or things.
    """
    found: list[Quantity] = []

    def take(match: re.Match[str]) -> str:
        letter, money = (match["letter"] or "").casefold(), match["currency"] or match["code"]
        if letter == "m" and not (money or counts):
            return match.group()  # metres or millions: leave it a word
        before, after = text[max(0, match.start() - _NEAR) : match.start()], text[match.end() :]
        way = "ROSE" if of_a_fall else "FELL"
        fell = not match["ordinal"] and (
            pattern(f"{way}_BEFORE").search(before) or pattern(f"{way}_AFTER").match(after)
        )
        measure = _unit_of(match) or unit or NO_UNIT
        digits = match["digits"].replace(",", "")
        whole = (counts and not measure.dimension) or measure.dimension.isupper()
        if whole and pattern("POINT_FOR_THOUSANDS").fullmatch(digits):
            digits = digits.replace(".", "")
        number = float(digits) * float(mapping("scales").get(letter, 1))
        number = -number if match["minus"] or fell else number
        if match["ordinal"] and measure.dimension == "time":
            measure = Unit(f"{(match['unit'] or '').casefold()} by number")  # "the 19th century"
        found.append(
            Quantity(
                number,
                (number - measure.zero) * measure.factor,
                measure.dimension,
                rough=bool(pattern("ROUGH").search(before)),
                bound=match["bound"] or "",
                per=_per_of(match) or per,
                long=bool(pattern("LONG").search(digits)),
            )
        )
        return " " * len(match.group())

    return found, pattern("QUANTITY").sub(take, text) if pattern("DIGIT").search(text) else text


def _unit_of(match: re.Match[str]) -> Unit | None:
    """The unit of a number; a currency's name or code behind it goes before its sign."""
    signs = mapping("currency_signs")
    name = match["sign"] or match["unit"] or match["code"] or match["degrees"]
    named = unit_named(signs.get(name, name)) if name else None
    if not match["currency"] or (named is not None and named.dimension.isupper()):
        return named
    country = (match["country"] or "US").replace(".", "")
    if match["currency"] == "$" and country != "US":
        return Unit(mapping("dollars").get(country, f"{country}$"))
    return Unit(signs[match["currency"]])


def _per_of(match: re.Match[str]) -> Unit | None:
    """What a rate is per; a speed such as "mph" is in metres a second."""
    if (match["unit"] or "").casefold() in _SPEEDS:
        return NAMED["second"]
    per = match["per"] or mapping("adverbs").get((match["rate"] or "").casefold())
    return unit_named(per) if per else None


_MONTHS = [name.casefold()[:3] for name in in_order("months")[:12]]
_CENTURY = 50  # years of two digits from here on are of the last century


def take_dates(
    text: str, *, bare_years: bool, bare_months: bool, short: bool = False
) -> tuple[list[PartialDate], str]:
    """Dates of a text, and the text with them blanked out; with `short` also 04/2021 and 4.5.21."""
    found: list[PartialDate] = []

    def take(match: re.Match[str]) -> str:
        parts = match.groupdict()
        day = re.match(r"\d+", parts.get("day") or "")
        year = int(parts["year"]) if parts.get("year") else None
        if year is not None and year < 100:
            year += 2000 if year < _CENTURY else 1900
        numbers = _month_and_day(parts.get("month"), int(day[0]) if day else None, match)
        if numbers is None:
            return match.group()
        bound = pattern("BOUND_BEFORE").search(text[max(0, match.start() - 10) : match.start()])
        found.append(
            PartialDate(
                -year if year and parts.get("minus") else year,
                *numbers,
                aside=bool(parts.get("aside")),
                bound=bound[1] if bound else "",
            )
        )
        return " " * len(match.group())

    names = [*pattern_names("SHORT_DATE_") * short, *pattern_names("DATE_")]
    for name in (*names, *["BARE_YEAR"] * bare_years, *["BARE_MONTH"] * bare_months):
        text = pattern(name).sub(take, text)
    return found, text


def _month_and_day(
    named: str | None, day: int | None, match: re.Match[str]
) -> tuple[int | None, int | None] | None:
    """Month and day of a date; None where they are none, or where either may be the month."""
    if named is None:
        return None, day
    if not named.isdigit():
        return _MONTHS.index(named.casefold()[:3]) + 1, day
    month = int(named)
    if day is None:
        return month, None
    first_is_day = match.start("day") < match.start("month")
    if first_is_day and month > 12 >= day:
        month, day = day, month
    elif first_is_day and "/" in match[0] and month != day <= 12:
        return None
    return (month, day) if 1 <= month <= 12 and 1 <= day <= 31 else None


_MINUTES = {"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}


def take_times(text: str, *, bare_times: bool) -> tuple[list[ClockTime], str]:
    """Times of day of a text, and the text with them blanked out.

    With `bare_times` also those like "9:30", which may be a verse or a score beside other words.
    """
    if twelve := pattern("TWELVE").match(text):
        return [ClockTime(720 if twelve["noon"] else 0)], ""
    found: list[ClockTime] = []
    text = pattern("HOUR_WORD").sub(lambda word: str(_hour(word[1])), text)
    text = pattern("PAST").sub(_in_digits, text)

    def take(match: re.Match[str]) -> str:
        hour, half = int(match["hour"]), match["am"] or match["pm"]
        if not (half or match["clock"] or (bare_times and ":" in match.group())):
            return match.group()
        known = bool(half) or hour > 12 or match["hour"].startswith("0")
        if half and hour <= 12:
            hour = hour % 12 + 12 * bool(match["pm"])
        minute = (60 * hour + int(match["minute"] or 0)) % 1440
        found.append(ClockTime(minute, half_known=known, bound=match["bound"] or ""))
        return " " * len(match.group())

    return found, pattern("CLOCK_TIME").sub(take, text)


def _hour(text: str) -> int:
    return int(text) if text.isdigit() else in_order("hours").index(text.lower()) + 1


def _in_digits(spoken: re.Match[str]) -> str:
    """Write "half past four" as "4:30"; "ten to nine" stays: it may be a range."""
    hour, part = _hour(spoken["hour"]), spoken["part"].lower()
    if spoken["way"].lower() == "past":
        return f"{hour}:{_MINUTES[part]:02d}"
    if part not in ("quarter", "half"):
        return spoken.group()
    return f"{(hour - 2) % 12 + 1}:{60 - _MINUTES[part]:02d}"


def take_pairs(text: str) -> tuple[list[Pair], str]:
    """Scores, ranges and ratios of a text, and the text without them."""
    found: list[Pair] = []

    def take(match: re.Match[str]) -> str:
        spanned = match.group().lower().startswith(("between", "from"))
        if (match["and"] and not spanned) or pattern("CLOCK_BEHIND").match(text, match.end()):
            return match.group()
        units = [unit_named(match[name] or "") for name in ("au", "bu")]
        used = [u if u.dimension else units[1 - i] for i, u in enumerate(units)]
        numbers = [float(match[name].replace(",", "")) for name in ("a", "b")]
        if 1000 <= numbers[0] < 2100 and 10 <= numbers[1] < 100 and not used[0].dimension:
            numbers[1] += numbers[0] // 100 * 100  # 1914-18
        stated = [round(n * u.factor, 9) for n, u in zip(numbers, used, strict=True)]
        found.append(Pair(stated[0], stated[1], used[0].dimension))
        return " "

    return found, pattern("PAIR").sub(take, text) if pattern("DIGIT").search(text) else text
