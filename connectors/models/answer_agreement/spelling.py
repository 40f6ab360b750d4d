"""A text in one spelling: its language, marks, phrases and numbers, and who does what to whom."""

import re
from collections.abc import Callable
from functools import lru_cache

from anyascii import anyascii
from text_to_num import alpha2digit

from radarstream.connectors.models.answer_agreement.tables import (
    first_of,
    mapping,
    pattern,
    rewriting,
    rows,
    words,
)

NEGATIONS = words("negations")
_MOST_PARTS = 4  # words of a name of a place
_ACRONYMS = {short: long for short, long, *_ in rows("acronyms")}  # in capitals in an answer
_ACRONYM = re.compile(
    rf"(?<!\d )\b(?:{'|'.join(sorted(_ACRONYMS.keys() - words('acronyms_alone')))})\b(?![\d$]| \d)"
)
_MASK, _MASKED = "\ue000", re.compile("\ue000(.)")
_ROMAN = re.compile(r"(?=[MDCLXVI])M*(?:C[MD]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})")
_ROMAN_DIGIT = {"M": 1000, "D": 500, "C": 100, "L": 50, "X": 10, "V": 5, "I": 1}


@lru_cache(maxsize=65_536)
def in_digits(text: str) -> str:
    """Write number words as digits; "one" is left alone where it counts nothing ("no one").

    >>> in_digits("two hundred and five"), in_digits("no one"), in_digits("2.5 million")
    ('205', 'no one', '2500000')
    """
    text = pattern("SCALED").sub(_scaled, text)
    if not re.search(r"[^\W\d]{3}", text):
        return text
    text = pattern("NOT_COUNTING").sub(lambda m: "".join(f"{_MASK}{c}" for c in m[0]), text)
    text = pattern("SPOKEN_SCORE").sub(r"\1 - \2", text)
    spelt = alpha2digit(pattern("NUMBER_AND_WORD").sub(r"\1 ", text), "en", 0)
    return _MASKED.sub(r"\1", spelt)


def _scaled(match: re.Match[str]) -> str:
    number = float((match[1] or "1").replace(",", "")) * float(mapping("scales")[match[3].lower()])
    return f"{number:.0f}" if number == int(number) else repr(number)


def read_roman(text: str) -> float | None:
    """Value of a text that is one Roman numeral in capitals, else None.

    >>> read_roman("XIV"), read_roman("IIII"), read_roman("mix")
    (14.0, None, None)
    """
    if not _ROMAN.fullmatch(text):
        return None
    digits = [_ROMAN_DIGIT[letter] for letter in text]
    return float(sum(-d if d < max(digits[i:]) else d for i, d in enumerate(digits)))


def _numbered(match: re.Match[str]) -> str:
    """Henry VIII and Henry the Eighth as Henry 8."""
    roman = read_roman(match[match.lastindex or 0].upper())
    number = in_digits(match[2].lower()).rstrip("stndrh") if roman is None else roman
    return f"{match[1]} {int(number)}"


def _fraction(match: re.Match[str]) -> str:
    count = float(1 if match["count"].lower() in ("a", "an") else in_digits(match["count"]))
    part = count / int(mapping("parts")[match["part"].lower()])
    if match["whole"]:
        return f"{float(in_digits(match['whole'])) + part:.6g} {match['unit'] or ''}"
    return f"{part:.6g} {match['unit']}" if match["unit"] else f"{100 * part:.6g}% "


def _past(match: re.Match[str]) -> str:
    """Spell "half past four" as "4:30"; "ten to nine" stays: it may be a range."""
    hour = int(mapping("hours").get(match["hour"].lower(), match["hour"]))
    part, minutes = match["part"].lower(), int(mapping("minutes")[match["part"].lower()])
    if match["way"].lower() == "past":
        return f"{hour}:{minutes:02d}"
    return f"{(hour - 2) % 12 + 1}:{60 - minutes}" if part in ("quarter", "half") else match[0]


def _share(match: re.Match[str]) -> str:
    part, whole = int(match[1]), int(match[2].replace(",", ""))
    return f"{100 * part / whole:.6g}%" if part < whole else match.group()


def _rate(match: re.Match[str]) -> str:
    """How often something happens, as one word: "twice a week", "every other day"."""
    parts = match.groupdict()
    if not parts.get("once") and pattern("AMOUNT_BEFORE").search(match.string[: match.start()]):
        return match.group()
    once = (parts.get("once") or "once").lower()
    times = float(parts.get("n") or {"once": 1, "twice": 2, "thrice": 3}.get(once, 1))
    unit = (parts["unit"] or mapping("adverbs")[parts["adverb"].lower()]).lower()
    every = (parts.get("every") or "1").lower()
    span = 2 if every in ("other", "second") else max(int(every), 1)
    rate = f"rate{1e6 * times / (span * int(mapping('seconds')[unit])):.5g}"
    return rate.replace(".", "_").replace("+", "")


def _state(match: re.Match[str]) -> str:
    states = mapping("state_letters") | mapping("states_cut_short")
    return ", " + (states.get(match[1]) or states[match[1].title()])


def _sides(match: re.Match[str]) -> str:
    """A score with a name for each side, the winner first."""
    sides = [(int(match["a"]), match["one"])]
    sides += [(int(match["b"] or match["c"]), match["two"] or match["three"])]
    (most, winner), (least, loser) = sorted(sides, reverse=True)
    return f"{winner} {'beat' if most > least else 'drew'} {loser} {most} - {least}"


_FUNCTIONS: dict[str, Callable[..., str]] = {
    "and_a_half": lambda m: f"{(int(m[1]) if m[1].isdigit() else 1) + 0.5} {m[2]}",
    "century": lambda m: f"the {int(m[1]) + 1}th century",
    "coins": lambda m: f"{m[1]}.{m[3]:0>2} {m[2]}",
    "day_of": lambda m: in_digits(m[1] or f"the {m[2]}") + " ",
    "decade": lambda century, m: f"the {century}{mapping('tens')[m[1].lower() + 'ty']}s",
    "decade_of": lambda m: f"{int(m[2]) - 1}{mapping('tens')[m[1].lower() + 'ty']}s",
    "dozens": lambda m: f"{12 * int(m[1] or 1)}",
    "fraction": _fraction,
    "given": lambda m: f"{m['giver']} {mapping('given')[m['took']]} {m['what']} to {m['taker']}",
    "in_digits": lambda m: in_digits(m[0]),
    "joined": lambda m: re.sub(r"[ '.]", "", m[0]),
    "mixed": lambda m: f"{int(m[1]) + int(m[2]) / int(m[3]):.6g}",
    "numbered": _numbered,
    "past": _past,
    "power": lambda m: f"{float(m[1]) * 10.0 ** int(m[2]):.0f}",
    "raised": lambda m: str(int(m[1]) ** int(m[2])),
    "rate": _rate,
    "roman": lambda m: f"{read_roman(m[1]) or 0:.0f}",
    "roman_century": lambda m: f"{read_roman(m[1]) or 0:.0f}th ",
    "share": _share,
    "sides": _sides,
    "sorted": lambda m: f" {m[2]} ".join(sorted((m[1], m[3]))),
    "spaced": lambda m: m[1].replace(".", " "),
    "spoken_year": lambda m: in_digits(m[1]) + in_digits(m[2]),
    "state": _state,
    "telephone": lambda m: "tel" + re.sub(r"\D", "", m[0]),
    "tens_th": lambda m: in_digits(f"{m[1]}-{m[2]}"),
    "together": lambda how, m: f"{int(how.split()[0]) * int(m[1]) + int(m[2])} {how.split()[1]}",
    "weekday": lambda m: next(d.title() for d in words("weekdays") if d[:3] == m[0][:3].lower()),
    "without_dots": lambda m: m[0].replace(".", "") if len(m[0]) > len("A.") else m[0],
}


@lru_cache(maxsize=65_536)
def in_english(text: str, *, places: bool = True) -> str:
    """A plain text in Latin letters, with English names of months, countries and cities.

    Of alphabets only Greek, Cyrillic, Armenian and Georgian are written in Latin letters.

    >>> in_english("12. Marz 2021"), in_english("Wien"), in_english("Praha or Moskva")
    ('12 March 2021', 'Vienna', 'Prague or Moscow')
    """
    text = pattern("FOREIGN_LETTERS").sub(lambda m: anyascii(m[0]), text)
    text = pattern("MONTH_YEAR").sub(_english_month, text)
    if not places:
        return text
    known = first_of("places", "regions").get(text)  # all in small letters, or in another script
    return known or pattern("NAMES").sub(_english_places, text)


def _english_month(match: re.Match[str]) -> str:
    month = first_of("months").get(match[2].casefold())
    if not month or (match[2] == "Mars" and not match[1]):
        return match[0]
    return f"{match[1]} {month} " if match[1] else f"{month} "


def _english_places(names: re.Match[str]) -> str:
    known, parts, places = first_of("places", "regions"), names[0].split(), list[str]()
    while parts:
        counts = range(min(len(parts), _MOST_PARTS), 0, -1)
        keys = ((n, " ".join(parts[:n]).casefold().replace("-", " ")) for n in counts)
        count, place = next(((n, known[key]) for n, key in keys if key in known), (1, parts[0]))
        places.append(place)
        parts = parts[count:]
    return " ".join(places)


# A plain text with each mark in one spelling: one of < ≤ ≥ > for a bound, "-" for a sign, "per" for
# "an hour". "no more than 5" is "≤ 5", "44 BC" is "-44".
spell_marks = rewriting("marks", _FUNCTIONS)
# Numbers, shares, rates and lengths of time as digits: "Henry 8", "25%" for "one in four".
numbers_in_one_spelling = rewriting("numbers", _FUNCTIONS)
_phrases, _order = rewriting("phrases", _FUNCTIONS), rewriting("order", _FUNCTIONS)


def one_spelling(text: str) -> str:
    """A plain text, its marks spelt alike, with each known phrase in one spelling.

    >>> one_spelling("She stepped down"), one_spelling("wasn't called off")
    ('She resigned', 'was not cancelled')
    """
    return " ".join(_ACRONYM.sub(lambda m: _ACRONYMS[m[0]], _phrases(text)).split())


def in_one_order(text: str) -> str:
    """A plain text with its passives, converses and owners in one order.

    >>> in_one_order("Ben was sent a letter by Anna"), in_one_order("Spain lost 3-1 to Norway")
    ('Anna sent Ben a letter', 'Norway beat Spain 3-1')
    """
    return " ".join(_order(text).split())
