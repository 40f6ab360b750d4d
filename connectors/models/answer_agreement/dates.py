"""Calendar dates and times of day, taken out of a text."""

import re

from radarstream.connectors.models.answer_agreement.quantities import CARDINAL, MAGNITUDE, UNIT
from radarstream.connectors.models.answer_agreement.values import (
    BOUND_MARKS,
    CURRENCY_SIGNS,
    ClockTime,
    PartialDate,
)

_MONTHS = "january february march april may june july august september october november december"
MONTH_NUMBER = {name: i for i, name in enumerate(_MONTHS.split(), start=1)}
MONTH_NUMBER |= {name[:3]: number for name, number in MONTH_NUMBER.items()} | {"sept": 9}
MONTH = rf"(?:{'|'.join(name.title() for name in MONTH_NUMBER)})\b\.?"
_YEAR = r"(?:1[0-9]|20)\d\d"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?"
_ASIDE = (
    r"(?P<aside>(?:\b(?:in|on|since|during|until|by|as of|from)\s+(?:early |late |mid-?)?|\())?"
)
_DATES = tuple(
    re.compile(_ASIDE + pattern, re.IGNORECASE)
    for pattern in (
        rf"(?<![\d-])(?P<year>{_YEAR})-(?P<month>\d\d)-(?P<day>\d\d)(?![\d-])",
        rf"\b(?P<month>{MONTH})\s+(?P<day>{_DAY})\b(?:,?\s+(?:of\s+)?(?P<year>{_YEAR})\b)?",
        rf"\b(?:the )?(?P<day>{_DAY})\s+(?:of\s+)?(?P<month>{MONTH})(?:,?\s+(?P<year>{_YEAR})\b)?",
        rf"\b(?P<month>{MONTH})\s*,?\s+(?:of\s+)?(?P<year>{_YEAR})\b",
    )
)
_BARE_YEAR = re.compile(
    _ASIDE + rf"(?<![\w,.:{''.join(CURRENCY_SIGNS)}-])(?P<minus>-)?(?P<year>1[5-9]\d\d|20\d\d)"
    rf"(?![\d%:'-]|,\d|\.\d|s\b|\s?[%\u2030\u00b0]|[\s-]*(?:{MAGNITUDE}|{UNIT}))\)?"
)
_BARE_MONTH = re.compile(_ASIDE + rf"\b(?P<month>{MONTH})(?!\s*\d)")
_BOUND = re.compile(rf"([{BOUND_MARKS}])\s*(?:the\s+)?$")
_TIME = re.compile(
    rf"(?:(?P<bound>[{BOUND_MARKS}])\s*)?(?<![\w.:,-])(?P<hour>2[0-4]|[01]?\d)"
    r"(?:[:.](?P<minute>[0-5]\d)(?![:\d]|\.\d))?"
    r"\s*(?:(?P<am>a\.?\s?m\b\.?|(?:o'clock\s+)?(?:in the|this) morning\b)"
    r"|(?P<pm>p\.?\s?m\b\.?"
    r"|(?:o'clock\s+)?(?:(?:in the|this) (?:afternoon|evening)|at night|tonight)\b)"
    r"|(?P<clock>o'clock\b)?)",
    re.IGNORECASE,
)
_HOURS = list(CARDINAL)[1:13]
_HOUR_WORD = re.compile(
    rf"\b({'|'.join(_HOURS)})(?=\s+(?:o'clock|[ap]\.?\s?m\b|at night|tonight"
    r"|(?:in the|this) (?:morning|afternoon|evening)))",
    re.IGNORECASE,
)
_PAST = re.compile(
    rf"\b(?:an?\s+)?(?P<part>half|quarter|five|ten|twenty|twenty-five)\s+(?P<way>past|to)\s+"
    rf"(?P<hour>{'|'.join(_HOURS)}|1[0-2]|[1-9])\b(?![:.\d])",
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
    text = _HOUR_WORD.sub(lambda word: str(_HOURS.index(word[1].lower()) + 1), text)
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


def _in_digits(spoken: re.Match[str]) -> str:
    """Write "half past four" as "4:30"; "ten to nine" stays: it may be a range."""
    named = spoken["hour"].lower()
    hour = _HOURS.index(named) + 1 if named in _HOURS else int(named)
    minutes = _MINUTES[spoken["part"].lower()]
    if spoken["way"].lower() == "past":
        return f"{hour}:{minutes:02d}"
    if spoken["part"].lower() not in ("quarter", "half"):
        return spoken.group()
    return f"{(hour - 2) % 12 + 1}:{60 - minutes:02d}"


def take_dates(text: str, *, bare_years: bool, bare_months: bool) -> tuple[list[PartialDate], str]:
    """Dates of a text, and the text with them blanked out."""
    found: list[PartialDate] = []

    def take(match: re.Match[str]) -> str:
        parts = match.groupdict()
        month = (parts.get("month") or "").rstrip(".").casefold()
        day = re.match(r"\d+", parts.get("day") or "")
        year = int(parts["year"]) if parts.get("year") else None
        bound = _BOUND.search(text[max(0, match.start() - 10) : match.start()])
        found.append(
            PartialDate(
                year=-year if year and parts.get("minus") else year,
                month=(int(month) if month.isdigit() else MONTH_NUMBER[month]) if month else None,
                day=int(day.group()) if day else None,
                aside=bool(parts.get("aside")),
                bound=bound[1] if bound else "",
            )
        )
        return " " * len(match.group())

    patterns = [*_DATES, *([_BARE_YEAR] * bare_years), *([_BARE_MONTH] * bare_months)]
    for pattern in patterns:
        text = pattern.sub(take, text)
    return found, text
