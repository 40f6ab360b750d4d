"""Whether two answers say opposite things: north and south, rose and fell, from A to B and back."""

import re
from functools import lru_cache

from radarstream.connectors.models.answer_agreement.tables import rows
from radarstream.connectors.models.answer_agreement.words import STOPWORDS

_COMPASS = re.compile(r"(north|south)-?(?=east|west)")
_TOKEN = re.compile(r"[^\W\d_]+|[<>\u2264\u2265]")
_AXES = tuple(tuple(map(re.compile, sides)) for sides in rows("opposites"))
_NON = re.compile(r"\bnon[ -](?=\w{4})")
_VOTE = re.compile(r"\b(vot(?:e|es|ed|ing)) for\b")
_PASSAGE = re.compile(r"\bto\b|(?<=\d)\s?[-/:]\s?(?=\d)")
_END = re.compile(r"[\w%]+")
_UN = re.compile(
    r"(?:un|non|dis|il(?=l)|ir(?=r)|i[mn](?=\w+(?:[bt]le|ive|al|ate|ent|ant|ect|ete|ite|ure)$))(\w{4,})"
)
_SLASHED = re.compile(r"\b\d\d?/\d\d?/\d{4}\b")


def opposed(one: str, other: str) -> bool:
    """Whether one text says the opposite of the other, however alike their wording is.

    That is: another direction; a word that stands where the other has its opposite, with nothing
    else changed; the way back; or another day. The texts are plain, with marks spelt alike.
    """
    mine, theirs = _tokens(one), _tokens(other)
    here, there = mine - theirs, theirs - mine
    way = _ends(one)
    back = len(way) == 2 and way != way[::-1] == _ends(other)
    return back or _replaced(here, there) or _other_day(one, other)


def _replaced(here: frozenset[str], there: frozenset[str]) -> bool:
    """Whether all words of weight that only one text has are opposites of the other's."""
    turned = {word for a in here for b in there if are_opposites(a, b) for word in (a, b)}
    return bool(turned) and (here | there) - turned <= STOPWORDS


@lru_cache(maxsize=65_536)
def are_opposites(one: str, other: str) -> bool:
    """Whether two words are opposites, by the tables or by a prefix such as "un"."""
    poles = set(_poles_of(other))
    if any((axis, -side) in poles for axis, side in _poles_of(one)):
        return True
    negated = (_UN.fullmatch(one), _UN.fullmatch(other))
    return any(un and un[1] == word for un, word in zip(negated, (other, one), strict=True))


def _other_day(one: str, other: str) -> bool:
    """Whether both have dates such as 7/8/2023 and none in common, whichever the month is."""
    mine, theirs = (
        {frozenset(date.split("/")) for date in _SLASHED.findall(text)} for text in (one, other)
    )
    return bool(mine and theirs) and mine.isdisjoint(theirs)


@lru_cache(maxsize=65_536)
def _tokens(text: str) -> frozenset[str]:
    spelt = _COMPASS.sub(r"\1 ", _NON.sub("non", text.casefold()))
    return frozenset(_TOKEN.findall(_VOTE.sub(r"\1 favour", spelt)))


@lru_cache(maxsize=65_536)
def _ends(text: str) -> tuple[frozenset[str], ...]:
    """The words of each part of "from A to B" or "A/B"; one part for any other text."""
    parts = _PASSAGE.split(text.casefold())
    return tuple(frozenset(_END.findall(part)) - {"from", "the", "between"} for part in parts)


@lru_cache(maxsize=65_536)
def _poles_of(word: str) -> tuple[tuple[int, int], ...]:
    """Which side of which axes a word stands on: 1 or -1."""
    return tuple(
        (number, side)
        for number, axis in enumerate(_AXES)
        for side, pattern in zip((1, -1), axis, strict=True)
        if pattern.fullmatch(word)
    )
