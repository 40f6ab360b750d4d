"""Numbers with their units, calendar dates and times of day, taken out of a text."""

import re

from radarstream.connectors.models.answer_agreement.tables import filled, in_order, mapping, pattern
from radarstream.connectors.models.answer_agreement.values import (
    BOUND_MARKS,
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
_LONG = re.compile(r"\.\d{4}")
_POINT_FOR_THOUSANDS = re.compile(r"\d{1,3}\.\d{3}")
_NEAR = 60  # characters before a number in which "fell by about" may stand
_NUMBER = re.compile(
    filled(
        rf"(?:(?P<bound>[{BOUND_MARKS}])\s*)?(?<![\w.:])(?<!\w-)"
        r"(?:(?<![\w.)%\]-])(?P<minus>-)(?=\S)|\+)?"
        r"(?:(?-i:(?P<country>[A-Z]{1,3}|U\.S\.))?(?P<currency><@currency_signs>)\s?"
        r"|(?P<code><@codes>)\s?)?"
        r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?![:\d]|-\d|,\d{3})"
        r"(?P<ordinal>(?:st|nd|rd|th)\b)?(?P<letter>(?:k|mn|bn|tn|m|b)\b)?"
        r"(?:\s*(?P<degrees>\u00b0|degrees?\b))?"
        r"(?:\s?(?P<sign>[%\u2030\u20ac\u00a3])|[\s-]*(?P<unit><UNIT>))?"
        r"(?:(?:\s?/\s?|\s+(?:once\s+)?(?:per|an?|each|every)\s+)(?P<per><UNIT>)"
        r"|\s+(?:once\s+)?(?P<rate><@adverbs>)\b)?"
    ),
    re.IGNORECASE,
)


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
        if whole and _POINT_FOR_THOUSANDS.fullmatch(digits):
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
                long=bool(_LONG.search(digits)),
            )
        )
        return " " * len(match.group())

    return found, _NUMBER.sub(take, text)


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
_DATES = tuple(
    re.compile(filled("<ASIDE>" + text), re.IGNORECASE)
    for text in (
        r"(?<![\d-])(?P<year><YEAR>)(?P<mark>[-/.])(?P<month>\d\d)(?P=mark)(?P<day>\d\d)(?![\d-])",
        r"(?<![\d./-])(?P<day>\d\d?)(?P<mark>[-/.])\s?(?P<month>\d\d?)(?P=mark)\s?(?P<year><YEAR>)"
        r"(?![\d./-])",
        r"\b(?P<month><MONTH>)\s+(?P<day><DAY>)\b(?:,?\s+(?:of\s+|in\s+)?(?P<year><YEAR>)\b)?",
        r"\b(?:the )?(?P<day><DAY>)\.?[\s-]+(?:of\s+)?(?P<month><MONTH>)"
        r"(?:,?[\s-]+(?:of\s+|in\s+)?(?P<year><YEAR>)\b)?",
        r"\b(?P<month><MONTH>)\s*,?\s+(?:of\s+)?(?P<year><YEAR>)\b",
    )
)
# What only looks like a date where none is asked for.
_SHORT_DATES = tuple(
    re.compile(filled("<ASIDE>" + text))
    for text in (
        r"(?<![\d.])(?P<day>\d\d?)\.(?P<month>\d\d?)\.(?P<year>\d\d)(?![\d.])",
        r"(?<![\d./-])(?P<month>0[1-9]|1[0-2])[./](?P<year><YEAR>)(?![\d./-])",
        r"(?<![\d./-])(?P<year><YEAR>)[-/](?P<month>0[1-9]|1[0-2])(?![\d./-])",
        r"(?<!\d)(?P<year><YEAR>)(?P<month>0[1-9]|1[0-2])(?P<day>[0-3]\d)(?!\d)",
    )
)
_BARE_YEAR = re.compile(
    filled(
        r"<ASIDE>(?<![\w,.:-])(?<!<@currency_signs>)(?P<minus>-)?(?P<year>1\d\d\d|20\d\d)"
        r"(?![\d%:'-]|,\d|\.\d|s\b|\s?[%\u2030\u00b0]|[\s-]*(?:<SCALE>\b|<UNIT>))\)?"
    )
)
_BARE_MONTH = re.compile(filled(r"<ASIDE>\b(?P<month><MONTH>)(?!\s*\d)"))
_BOUND = re.compile(rf"([{BOUND_MARKS}])\s*(?:the\s+)?$")


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
        bound = _BOUND.search(text[max(0, match.start() - 10) : match.start()])
        found.append(
            PartialDate(
                -year if year and parts.get("minus") else year,
                *numbers,
                aside=bool(parts.get("aside")),
                bound=bound[1] if bound else "",
            )
        )
        return " " * len(match.group())

    patterns = [*_SHORT_DATES * short, *_DATES]
    for dates in (*patterns, *[_BARE_YEAR] * bare_years, *[_BARE_MONTH] * bare_months):
        text = dates.sub(take, text)
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


_TIME = re.compile(
    filled(
        rf"(?:(?P<bound>[{BOUND_MARKS}])\s*)?(?<![\w.:,-])(?P<hour>2[0-4]|[01]?\d)"
        r"(?:[:.](?P<minute>[0-5]\d)(?![:\d]|\.\d))?"
        r"\s*(?:(?P<am><MORNING>)|(?P<pm><EVENING>)|(?P<clock>o'clock\b)?)"
    ),
    re.IGNORECASE,
)
_HOUR_WORD = re.compile(
    filled(r"\b(<@hours>)(?=\s+(?:o'clock|<MORNING>|<EVENING>))"), re.IGNORECASE
)
_PAST = re.compile(
    filled(
        r"\b(?:an?\s+)?(?P<part>half|quarter|five|ten|twenty|twenty-five)\s+(?P<way>past|to)\s+"
        r"(?P<hour><@hours>|1[0-2]|[1-9])\b(?![:.\d])"
    ),
    re.IGNORECASE,
)
_MINUTES = {"half": 30, "quarter": 15, "five": 5, "ten": 10, "twenty": 20, "twenty-five": 25}
_TWELVE = re.compile(
    r"^\W*(?:at |12 )?(?P<noon>noon|midday)\W*$|^\W*(?:at |12 )?midnight\W*$", re.I
)


def take_times(text: str, *, bare_times: bool) -> tuple[list[ClockTime], str]:
    """Times of day of a text, and the text with them blanked out.

    With `bare_times` also those like "9:30", which may be a verse or a score beside other words.
    """
    if twelve := _TWELVE.match(text):
        return [ClockTime(720 if twelve["noon"] else 0)], ""
    found: list[ClockTime] = []
    text = _HOUR_WORD.sub(lambda word: str(_hour(word[1])), text)
    text = _PAST.sub(_in_digits, text)

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

    return found, _TIME.sub(take, text)


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

    return found, pattern("PAIR").sub(take, text)
