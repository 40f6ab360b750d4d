"""Numbers, calendar dates and times of day, taken out of a text."""

import re

from radarstream.connectors.models.answer_agreement.values import (
    BOUND_MARKS,
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    LETTERS,
    NAMED,
    NO_UNIT,
    SPEEDS,
    ClockTime,
    PartialDate,
    Quantity,
    Unit,
    unit_named,
)

_UNIT_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TEN_WORDS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINAL_WORDS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
_ORDINAL_WORDS += (
    " thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"
)
CARDINAL = {word: i for i, word in enumerate(_UNIT_WORDS.split())} | {
    word: 10 * (i + 2) for i, word in enumerate(_TEN_WORDS.split())
}
_SCALE = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9}
_ORDINAL = {word: i for i, word in enumerate(_ORDINAL_WORDS.split(), start=1)} | {
    f"{word[:-1]}ieth": 10 * (i + 2) for i, word in enumerate(_TEN_WORDS.split())
}

_CARDINAL_WORD = "|".join(sorted(CARDINAL, key=len, reverse=True))
NUMBER_WORD = f"(?:{_CARDINAL_WORD}|{'|'.join(_SCALE)}|dozen)"
_PHRASE = re.compile(
    rf"\b(?:{_CARDINAL_WORD})\b(?:(?:[\s-]+and[\s-]+|[\s-]+)(?:{_CARDINAL_WORD}|{'|'.join(_SCALE)})\b)*",
    re.IGNORECASE,
)
ORDINAL_WORD = "|".join(_ORDINAL)
_ORDINAL_WORD = re.compile(
    rf"\b(?:(?P<ten>{'|'.join(_TEN_WORDS.split())})[\s-])?(?P<last>{ORDINAL_WORD})\b", re.IGNORECASE
)
_POINT = re.compile(r"\b(\d+) point (\d(?: \d)*)\b", re.IGNORECASE)
_EMPTY_ONE = re.compile(
    r"\b(?:no|the|this|that|which|any|every)[\s-]one\b|\bone\s+of\b", re.IGNORECASE
)


def spell_in_digits(text: str) -> str:
    """Write number words as digits; "one" is left alone where it counts nothing ("no one").

    >>> spell_in_digits("two hundred and five")
    '205'
    """
    text = _ORDINAL_WORD.sub(_ordinal, text)
    kept = {
        match.start() + match.group().lower().index("one") for match in _EMPTY_ONE.finditer(text)
    }
    text = _PHRASE.sub(lambda m: m.group() if m.start() in kept else _cardinal(m.group()), text)
    return _POINT.sub(lambda m: f"{m[1]}.{m[2].replace(' ', '')}", text)


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


def _ordinal(match: re.Match[str]) -> str:
    number = _ORDINAL[match["last"].lower()] + CARDINAL.get((match["ten"] or "").lower(), 0)
    if number > 20:
        return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number, 'th') }"


def _cardinal(phrase: str) -> str:
    """Digits of one phrase; separate numbers that merely follow each other stay separate."""
    numbers: list[str] = []
    total = current = 0
    last = 0
    joint = " "
    for word in re.split(r"[\s-]+", phrase.lower()):
        if word == "and":
            joint = " and "
            continue
        if word in _SCALE:
            scale = _SCALE[word]
            current = max(current, 1) * scale
            if scale > 100:
                total, current = total + current, 0
            last = scale
            continue
        value = CARDINAL[word]
        if last and last < 100 and not (last >= 20 and last % 10 == 0 and 0 < value < 10):
            numbers.append(f"{total + current}{joint}")
            total = current = 0
        current += value
        last, joint = value, " "
    return "".join([*numbers, str(total + current)])


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
        years = (
            1.0
            if match["ordinal"]
            else _YEARS.get((match["unit"] or "").casefold().removesuffix("s"), 1.0)
        )
        number = float(match["digits"].replace(",", "")) * scale * years
        number = -number if match["minus"] or fell else number
        measure = unit_of(match) or unit or NO_UNIT
        if match["ordinal"] and measure.dimension == "time":
            measure = Unit(f"{(match['unit'] or '').casefold()} by number")  # "the 19th century"
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
        rf"\b(?:the )?(?P<day>{_DAY})\s+(?:of\s+)?(?P<month>{MONTH})"
        rf"(?:,?\s+(?:of\s+)?(?P<year>{_YEAR})\b)?",
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
