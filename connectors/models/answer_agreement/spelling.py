"""A text in one spelling: its language, marks, phrases and numbers, and who does what to whom."""

import re
from collections.abc import Callable
from functools import cache, lru_cache

from anyascii import anyascii

from radarstream.connectors.models.answer_agreement import numbers
from radarstream.connectors.models.answer_agreement.known_names import ACRONYMS
from radarstream.connectors.models.answer_agreement.tables import (
    Rules,
    mapping,
    pattern,
    rows,
    words,
)

NEGATIONS = words("negations")
_MOST_PARTS = 4  # words of a name of a place
_ACRONYM = re.compile(rf"(?<!\d )\b(?:{'|'.join(ACRONYMS)})\b(?![\d$]| \d)")


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
    **numbers.FUNCTIONS,
    "power": lambda m: f"{float(m[1]) * 10.0 ** int(m[2]):.0f}",
    "raised": lambda m: str(int(m[1]) ** int(m[2])),
    "roman": lambda m: f"{numbers.read_roman(m[1]) or 0:.0f}",
    "telephone": lambda m: "tel" + re.sub(r"\D", "", m[0]),
    "joined": lambda m: re.sub(r"[ '.]", "", m[0]),
    "state": _state,
    "weekday": lambda m: next(d.title() for d in words("weekdays") if d[:3] == m[0][:3].lower()),
    "spaced": lambda m: m[1].replace(".", " "),
    "without_dots": lambda m: m[0].replace(".", "") if len(m[0]) > len("A.") else m[0],
    "sides": _sides,
    "sorted": lambda m: f" {m[2]} ".join(sorted((m[1], m[3]))),
    "given": lambda m: f"{m['giver']} {mapping('given')[m['took']]} {m['what']} to {m['taker']}",
}
_marks, _phrases, _numbers, _order = (
    Rules(table, _FUNCTIONS) for table in ("marks", "phrases", "numbers", "order")
)


@cache
def _foreign(table: str) -> dict[str, str]:
    return {name: english for english, *names in rows(table) for name in names}


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
    known = _foreign("places").get(text)  # all in small letters, or in another script
    return known or pattern("NAMES").sub(_english_places, text)


def _english_month(match: re.Match[str]) -> str:
    month = _foreign("months").get(match[2].casefold())
    if not month or (match[2] == "Mars" and not match[1]):
        return match[0]
    return f"{match[1]} {month} " if match[1] else f"{month} "


def _english_places(names: re.Match[str]) -> str:
    parts, found = names[0].split(), list[str]()
    while parts:
        lengths = range(min(len(parts), _MOST_PARTS), 0, -1)
        known = ((n, " ".join(parts[:n]).casefold().replace("-", " ")) for n in lengths)
        places = ((n, _foreign("places")[name]) for n, name in known if name in _foreign("places"))
        count, place = next(places, (1, parts[0]))
        found.append(place)
        parts = parts[count:]
    return " ".join(found)


@lru_cache(maxsize=65_536)
def spell_marks(text: str) -> str:
    """A plain text with each mark in one spelling: one of < ≤ ≥ > for a bound, "-" for a sign,
    "per" for "an hour".

    >>> spell_marks("no more than 5"), spell_marks("5 or more"), spell_marks("44 BC")
    ('≤ 5', '≥ 5', '-44')
    """
    return _marks(text)


@lru_cache(maxsize=65_536)
def numbers_in_one_spelling(text: str) -> str:
    """Numbers, shares, rates and lengths of time as digits in one form each.

    >>> numbers_in_one_spelling("Henry VIII"), numbers_in_one_spelling("one in four")
    ('Henry 8', '25%')
    """
    return _numbers(text)


@lru_cache(maxsize=65_536)
def one_spelling(text: str) -> str:
    """A plain text, its marks spelt alike, with each known phrase in one spelling.

    >>> one_spelling("She stepped down"), one_spelling("wasn't called off")
    ('She resigned', 'was not cancelled')
    """
    return " ".join(_ACRONYM.sub(lambda m: ACRONYMS[m[0]], _phrases(text)).split())


@lru_cache(maxsize=65_536)
def in_one_order(text: str) -> str:
    """A plain text with its passives, converses and owners in one order.

    >>> in_one_order("Ben was sent a letter by Anna"), in_one_order("Spain lost 3-1 to Norway")
    ('Anna sent Ben a letter', 'Norway beat Spain 3-1')
    """
    return " ".join(_order(text).split())
