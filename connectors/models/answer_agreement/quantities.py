"""Numbers with their signs, bounds and units, taken out of a text."""

import re

from radarstream.connectors.models.answer_agreement.units import (
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    LETTERS,
    NAMED,
    NO_UNIT,
    SPEEDS,
    Unit,
    unit_named,
)
from radarstream.connectors.models.answer_agreement.values import BOUND_MARKS, Quantity

_ROUGH = re.compile(
    r"\b(?:about|around|approximately|roughly|nearly|almost|some|circa)\s*$", re.IGNORECASE
)
_MAGNITUDE = {
    "hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "m": 1e6,
    "billion": 1e9, "bn": 1e9, "b": 1e9, "trillion": 1e12, "tn": 1e12, "quadrillion": 1e15,
    "mil": 1e6, "bil": 1e9, "lakh": 1e5, "crore": 1e7,
}  # fmt: skip
MAGNITUDE = r"(?:hundred|thousand|million|billion|trillion|quadrillion|mil|bil|lakh|crore)\b"
_YEARS = {"decade": 10.0, "century": 100.0, "centurie": 100.0}  # stated in years
_WORDS = sorted((re.escape(name) for name in [*NAMED, *_YEARS] if name[-1].isalnum()), key=len)
UNIT = rf"(?:(?:{'|'.join(_WORDS[::-1])})s?|(?-i:{'|'.join(LETTERS)}))(?!\w)"
_RATES = {"daily": "day", "hourly": "hour", "weekly": "week", "monthly": "month", "yearly": "year"}
_RATES |= {"annually": "year"}
_DOLLARS = {"C": "CAD", "CA": "CAD", "A": "AUD", "AU": "AUD", "NZ": "NZD"}
_MINUS = r"(?:(?<![\w.)%\]-])(?P<minus>-)(?=\S)|\+)?"
_NUMBER = re.compile(
    rf"(?:(?P<bound>[{BOUND_MARKS}])\s*)?(?<![\w.:])(?<!\w-){_MINUS}"
    rf"(?:(?-i:(?P<country>[A-Z]{{1,3}}|U\.S\.))?(?P<currency>[{''.join(CURRENCY_SIGNS)}])\s?"
    rf"|(?P<code>{'|'.join(CURRENCY_CODES)})\s?)?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?![:\d]|-\d|,\d{3})"
    r"(?P<ordinal>(?:st|nd|rd|th)\b)?"
    rf"(?:\s?-?(?P<word>{MAGNITUDE})|(?P<letter>k|mn|bn|tn|m|b)\b)?"
    r"(?:\s*(?P<degrees>\u00b0|degrees?\b))?"
    rf"(?:\s?(?P<sign>[%\u2030])|[\s-]*(?P<unit>{UNIT}))?"
    rf"(?:(?:\s?/\s?|\s+(?:once\s+)?(?:per|an?|each|every)\s+)(?P<per>{UNIT})|\s+(?:once\s+)?(?P<rate>{'|'.join(_RATES)})\b)?",
    re.IGNORECASE,
)
_FALL = (
    "down|declin(?:ed?|es|ing)|decreas(?:ed?|es|ing)|drop(?:ped|ping|s)?"
    "|negative growth|f[ae]ll(?:en|s|ing)?|los(?:t|s|e|es|ses)"
    "|shr[aiu]nk(?:s|ing|age)?|dip(?:ped|ping|s)?|slid(?:es?|ing)|reced(?:ed?|es|ing)|recession"
    "|retreat(?:ed|s)?|weaken(?:ed|s)?|eas(?:ed|es|ing)|shed(?:s|ding)?|contract(?:ed|s|ion)|reduc(?:ed|tion)|lower(?:ed)?|slipped|slid|sank"
    "|plunged?|tumbled|slumped?|deficit"
)
_RISE = (
    "up|r[io]se[ns]?|rising|increas(?:ed?|es|ing)|gr[eo]wn?|growth|gain(?:ed|s)?|climb(?:ed|s)?"
    "|higher|jumped|soared|surged|surplus|profit"
)
_NEAR = 60  # characters before a number in which "fell by about" may stand
_CHANGED = (
    r"(?:,?\s+(?:by|of|about|around|almost|an?|another|just|only|some|back|modest|slight|sharp|mere"
    r"|further|(?-i:[a-z]{3,12}ly)))*\s*$"
)
_FELL_BEFORE, _ROSE_BEFORE = (
    re.compile(rf"\b(?:{words}){_CHANGED}", re.IGNORECASE) for words in (_FALL, _RISE)
)
_FELL_AFTER, _ROSE_AFTER = (
    re.compile(rf"\s*-?(?:[a-z]{{3,12}}(?:ly|al)\s+)?(?:{words})\b(?!\s+to\b)", re.IGNORECASE)
    for words in (
        "decline|decrease|reduction|drop|fall|loss|contraction|lower|less|smaller|fewer|down|downturn"
        "|dip|slide|shrinkage|deficit",
        "rise|increase|growth|gain|higher|up|surplus|profit",
    )
)
_FALLS, _RISES = (re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for words in (_FALL, _RISE))


def asks_for_a_fall(question: str) -> bool:
    """Whether a question asks by how much something fell, so that its answers need not say so."""
    return bool(_FALLS.search(question)) and not _RISES.search(question)


def take_quantities(
    text: str, *, of_a_fall: bool = False, unit: Unit | None = None
) -> tuple[list[Quantity], str]:
    """Numbers of a text whose number words are digits already, and the text with them blanked.

    With `of_a_fall` a rise is negative, else a fall is. `unit` is that of numbers without one.
    """
    found: list[Quantity] = []

    def take(match: re.Match[str]) -> str:
        letter = (match["letter"] or "").casefold()
        if letter == "m" and not (match["currency"] or match["code"]):
            return match.group()  # metres or millions: leave it a word
        before, after = text[max(0, match.start() - _NEAR) : match.start()], text[match.end() :]
        against = (_ROSE_BEFORE, _ROSE_AFTER) if of_a_fall else (_FELL_BEFORE, _FELL_AFTER)
        fell = not match["ordinal"] and (against[0].search(before) or against[1].match(after))
        scale = _MAGNITUDE.get((match["word"] or letter).casefold(), 1.0)
        years = _YEARS.get((match["unit"] or "").casefold().removesuffix("s"), 1.0)
        number = float(match["digits"].replace(",", "")) * scale * years
        number = -number if match["minus"] or fell else number
        measure = unit_of(match) or unit or NO_UNIT
        found.append(
            Quantity(
                number,
                (number - measure.zero) * measure.factor,
                measure.dimension,
                rough=bool(_ROUGH.search(before)),
                bound=match["bound"] or "",
                per=per_of(match),
            )
        )
        return " " * len(match.group())

    return found, _NUMBER.sub(take, text)


def unit_of(match: re.Match[str]) -> Unit | None:
    """The unit of a number; a currency's name or code behind it goes before its sign."""
    name = match["sign"] or match["unit"] or match["code"] or match["degrees"]
    if name and name.casefold().removesuffix("s") in _YEARS:
        return NAMED["year"]
    named = unit_named(name) if name else None
    if not match["currency"] or (named is not None and named.dimension.isupper()):
        return named
    country = (match["country"] or "US").replace(".", "")
    if match["currency"] == "$" and country != "US":
        return Unit(_DOLLARS.get(country, f"{country}$"))
    return Unit(CURRENCY_SIGNS[match["currency"]])


def per_of(match: re.Match[str]) -> Unit:
    """What a rate is per; a speed such as "mph" is in metres a second."""
    if (match["unit"] or "").casefold() in SPEEDS:
        return NAMED["second"]
    per = match["per"] or _RATES.get((match["rate"] or "").casefold())
    return unit_named(per) if per else NO_UNIT
