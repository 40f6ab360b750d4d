"""Numbers, shares, rates and lengths of time of an answer as digits in one form each."""

import re
from functools import partial

from radarstream.connectors.models.answer_agreement.quantities import (
    MONTH,
    ORDINAL_WORD,
    read_roman,
    spell_in_digits,
)

_LETTERED = re.compile(r"(?-i:\b(?!A )([A-Z]{1,3}))[ -](?=\d+\b(?![:.,%]\d))")
_NAMED_NUMBER = re.compile(r"\b([A-Z][\w'-]+) (?:the (?i:(first|second|third|fourth|fifth|sixth"
    r"|seventh"
    r"|eighth|ninth|tenth|eleventh|twelfth|thirteenth|fourteenth|fifteenth|sixteenth))\b"
    r"|(I{1,3}|I?V|VI{1,3}|I?X|XI{1,3}|XI?V|XVI{0,3}|XI?X|XXI{0,3}|XXI?V|XXVI{0,3}|L|LI{1,3}"
    r"|LI?V)(?![\w.'])(?! [A-Z][a-z]))")  # fmt: skip
_PHONE = re.compile(
    r"(?:\+?\d{1,2}[ -])?\(?\b(\d{3})\)?[ -](\d{3})\s?-\s?(\d{4})\b|\b(\d{3})\s?-\s?(0\d{3}"
    r"|\d{4})\b(?=\W*$)"
)
_DAY_OF = re.compile(
    rf"\b(?:the )?({ORDINAL_WORD}) (?:of )?(?={MONTH})|(?<=[a-z] )the ({ORDINAL_WORD})$", re.I
)
_CENTURY = re.compile(
    r"\b(?:the )?(twen|thir|for|fif|six|seven|eigh|nine)ties of the (\d\d)th century\b", re.I
)
_TENS = ("twen", "thir", "for", "fif", "six", "seven", "eigh", "nine")
_LONG = (
    (re.compile(r"\b(\d+)\s?(?:hours?|hrs?|h)\b,?(?: and)? (\d+)\s?(?:minutes?|mins?"
        r"|m)\b", re.I), 60, "minutes"),
    (re.compile(r"\b(\d+)\s?(?:minutes?|mins?|m)\b,?(?: and)? (\d+)\s?(?:seconds?|secs?"
        r"|s)\b", re.I), 60, "seconds"),
    (re.compile(r"\b(\d+)\s?(?:years?|yrs?)\b,?(?: and)? (\d+)\s?months?\b", re.I), 12, "months"),
    (re.compile(r"\b(\d+)\s?weeks?\b,?(?: and)? (\d+)\s?days?\b", re.I), 7, "days"),
    (re.compile(r"\b(\d+)\s?(?:feet|foot|ft\.?|')\s?,?(?:and )?(\d+)\s?(?:inches|inch|in\.?|\""
        r"|'')?(?!\w)", re.I), 12, "inches"),
)  # fmt: skip
_SHARE = re.compile(
    r"(?<![\w.,/:-])(\d+) (?:out of(?: every)?|in(?: every)?|of every) (\d+)(?![\w.,:/-]|\d)", re.I
)
_SLASHED = re.compile(r"(?<![\w/.,:-])([1-9])/([2-9]|10)(?![\w/.,:]|-\d)")
_PARTS = {"half": 2, "halves": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6,
          "eighth": 8, "tenth": 10, "twentieth": 20, "hundredth": 100}  # fmt: skip
_FRACTION = re.compile(
    r"\b(?:(?P<whole>\d+|one|two|three|four|five|six|seven|eight|nine|ten) and )?(?P<count>an?"
    r"|one|two|three|four|five|seven|nine|\d+)[ -](?P<part>half|halve|third|quarter|fourth|fifth"
    r"|sixth|eighth|tenth|twentieth|hundredth)s?\b(?P<of> of (?:an? |the "
    r"|all )?)?(?: ?(?P<unit>percentage point|point|hour|mile|kilo|"
    r"litre|liter|century|year|million|billion|decade|dozen|pound|degree|teaspoon|cup|tonne|ton"
    r"|inch|metre|meter)s?\b|(?=\s*(?:of\b|$|[.,;)]|than)))",
    re.I,
)
_HALF = re.compile(r"(?<!and a )\bhalf (an? |of (?:an? )?)?(percentage point|hour|mile"
    r"|kilo|litre|liter"
    r"|century|year|million"
    r"|billion|decade"
    r"|dozen|pound|degree|teaspoon|cup|tonne|ton|inch|metre|meter)\b", re.I)  # fmt: skip
_BARE_HALF = re.compile(r"\b(?:one[- ])?half\b(?! ?(?:time|past|way|-))(?: of)?", re.I)
_AMOUNT_BEFORE = re.compile(r"\d[\w.,%]*(?:\s[^\d\s]+)?\s$")
_UNITS_OF_TIME = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800,
                  "fortnight": 1209600, "month": 2629800, "quarter": 7889400,
                  "year": 31557600}  # fmt: skip
_ADVERBS = {"daily": "day", "hourly": "hour", "weekly": "week", "fortnightly": "fortnight",
            "monthly": "month", "yearly": "year", "annually": "year", "annual": "year",
            "quarterly": "quarter"}  # fmt: skip
_TIMES_A = re.compile(r"(?:\b(?P<once>once|twice|thrice|(?P<n>\d+) times?)\s+)(?:(?:an?|per|each"
    r"|every|in an?) "
    r"(?:(?P<every>\d+|other|second) )?(?P<unit>second|minute|hour|day|week|month|quarter|year"
        r"|fortnight)s?"
    r"|(?P<adverb>daily|hourly|weekly|fortnightly|monthly|quarterly|yearly|annually"
        r"|annual))\b", re.I)  # fmt: skip
_EVERY = re.compile(r"\b(?:each|every) (?:(?P<every>\d+|other|second) )?"
    r"(?P<unit>second|minute|hour|day|week|month|quarter|year|fortnight)s?\b|(?<!\d"
        r" )\b(?P<adverb>daily"
    r"|hourly|weekly"
    r"|fortnightly|monthly|quarterly|yearly|annually|annual)\b", re.I)  # fmt: skip
_COINS = re.compile(
    r"\b(\d+) (euros?|dollars?|pounds?|francs?)(?:,? (?:and )?)(\d\d?)"
    r"(?: ?(?:cents?|pence|p|centimes)\b|(?=\W*$))(?! ?\w*illion)",
    re.I,
)
_AND_A_HALF = re.compile(
    r"\b(an?|one|\d+) (second|minute|hour|day|week|month|year|decade|century|mile|kilo|million"
    r"|billion|point"
    r"|percent|metre|meter|litre|liter|ton|tonne)s? and (?:an? |one )?half\b",
    re.I,
)
_ARTICLE = re.compile(
    r"\ban? (?=(?:hundred|thousand|million|billion|second|minute|hour|day|week|month|year"
    r"|decade|century)\b)",
    re.I,
)
_DOZENS = re.compile(r"\b(?:a )?(\d+ )?dozens?\b", re.I)
_OR_SO = re.compile(r"(\d[\w.,%]*(?: \w+)?) or so\b", re.I)
_TWO = re.compile(r"\b(?:an? )?(?:pair|couple) of (?=[a-z])|^(?:an? )?(?:pair|couple)$", re.I)
_AGED = re.compile(
    r"\b(?:aged|age of|(?:(?<=man)|(?<=woman)|(?<=boy)|(?<=girl)|(?<=child)) of) (\d{1,3})\b(?!"
    r" \w*illion)"
    r"|\b(\d{1,3})[- ]years?[- ]olds?\b",
    re.I,
)
_ALL = re.compile(r"\b(\d+)[- ]all\b|\b(?:goalless|scoreless|nil[- ]nil)\b", re.I)
_NIL = re.compile(r"(?<=\d)(\s?-\s?|\s+)nil\b|\bnil(?=\s?-?\s?\d)", re.I)


def numbers_in_one_spelling(text: str) -> str:
    """Numbers, shares, rates and lengths of time as digits in one form each.

    >>> numbers_in_one_spelling("Henry VIII"), numbers_in_one_spelling("one in four")
    ('Henry 8', '25%')
    """
    text = _TWO.sub("2 ", text)
    text = _NAMED_NUMBER.sub(_named_number, text)
    text = _DAY_OF.sub(lambda m: spell_in_digits(m[1] or f"the {m[2]}") + " ", text)
    text = _AND_A_HALF.sub(_and_a_half, text)
    text = _HALF.sub(r"0.5 \2", text)
    text = _FRACTION.sub(_fraction, text)
    text = spell_in_digits(text)
    text = _DOZENS.sub(lambda m: f"{12 * int(m[1] or 1)}", text)
    text = _OR_SO.sub(r"about \1", text)
    text = _CENTURY.sub(lambda m: f"{int(m[2]) - 1}{_TENS.index(m[1].lower()) + 2}0s", text)
    for pattern, factor, unit in _LONG:
        text = pattern.sub(partial(_in_one_unit, factor=factor, unit=unit), text)
    text = _COINS.sub(lambda m: f"{m[1]}.{m[3]:0>2} {m[2]}", text)
    text = _AGED.sub(lambda m: f" {m[1] or m[2]} years ", text)
    text = _SHARE.sub(_share, _SLASHED.sub(_share, text))
    text = _BARE_HALF.sub("50%", text)
    text = _TIMES_A.sub(_rate, text)
    text = _EVERY.sub(_rate, text)
    text = re.sub(
        r"\b(?:noon|midday)\b", "12:00 pm", re.sub(r"\b12 (?=noon|midday|midnight)", "", text)
    )
    text = re.sub(r"\bmidnight\b", "12:00 am", text)
    text = _ALL.sub(lambda m: f"{m[1]} - {m[1]}" if m[1] else "0 - 0", text)
    text = _NIL.sub(lambda m: " - 0" if m[1] else "0 -", text)
    text = _PHONE.sub(lambda m: "tel" + "".join(part for part in m.groups() if part), text)
    return _LETTERED.sub(r"\1", _ARTICLE.sub("1 ", text))


def _in_one_unit(match: re.Match[str], *, factor: int, unit: str) -> str:
    return f"{factor * int(match[1]) + int(match[2])} {unit}"


def _and_a_half(match: re.Match[str]) -> str:
    count = int(match[1]) if match[1].isdigit() else 1
    return f"{count + 0.5} {match[2]}s"


def _named_number(match: re.Match[str]) -> str:
    if match[3]:
        return f"{match[1]} {read_roman(match[3]) or 0:.0f}"
    return f"{match[1]} {spell_in_digits(match[2].lower()).rstrip('stndrh')}"


def _fraction(match: re.Match[str]) -> str:
    count = float(1 if match["count"].lower() in ("a", "an") else spell_in_digits(match["count"]))
    part = count / _PARTS[match["part"].lower()]
    if match["whole"]:
        whole = float(spell_in_digits(match["whole"]))
        return f"{whole + part:.6g} {match['unit'] or ''}"
    return f"{part:.6g} {match['unit']}" if match["unit"] else f"{100 * part:.6g}% "


def _share(match: re.Match[str]) -> str:
    part, whole = int(match[1]), int(match[2])
    return f"{100 * part / whole:.6g}%" if part < whole else match.group()


def _rate(match: re.Match[str]) -> str:
    parts = match.groupdict()
    if not parts.get("once") and _AMOUNT_BEFORE.search(match.string[: match.start()]):
        return match.group()
    once = (parts.get("once") or "once").lower()
    times = float(parts.get("n") or {"once": 1, "twice": 2, "thrice": 3}.get(once, 1))
    unit = (parts["unit"] or _ADVERBS[parts["adverb"].lower()]).lower()
    every = (parts.get("every") or "1").lower()
    span = 2 if every in ("other", "second") else int(every)
    return f"rate{1e6 * times / (span * _UNITS_OF_TIME[unit]):.5g}".replace(".", "_").replace(
        "+", ""
    )
