"""Whether two answers say opposite things: north and south, rose and fell, from A to B and back."""

import re
from functools import lru_cache

_COMPASS = re.compile(r"(north|south)-?(?=east|west)")
_TOKEN = re.compile(r"[^\W\d_]+|[<>\u2264\u2265]")
_ENDING = "(?:ern|erly|wards?|bound)?"
_AXES = tuple(
    (re.compile(one), re.compile(other))
    for one, other in (
        (f"north{_ENDING}", f"south{_ENDING}"),
        (f"east{_ENDING}", f"west{_ENDING}"),
        ("left|leftwards?|lefthand", "right|rightwards?|righthand"),
        (
            "up|upwards?|ris(?:e|es|en|ing)|rose|increas(?:e|es|ed|ing)|gr[eo]w(?:n|s|ing|th)?"
            "|gain(?:s|ed|ing)?|climb(?:s|ed|ing)?|higher|expan(?:d|ds|ded|ding|sion)|surplus|profits?"
            "|upturn|jump(?:s|ed)?|soar(?:s|ed)?|surg(?:e|es|ed)",
            "down|downwards?|fall(?:s|en|ing)?|fell|decreas(?:e|es|ed|ing)|declin(?:e|es|ed|ing)"
            "|los(?:e|es|t|s|ses|ing)|drop(?:s|ped|ping)?|shr[aiu]nk(?:s|ing)?|lower"
            "|contract(?:s|ed|ing|ion)|deficit|downturn|plung(?:e|es|ed)|slump(?:s|ed)?|sank",
        ),
        (
            "more|most|above|over|exceed(?:s|ing)?|[>\u2265]",
            "less|fewer|least|below|under|[<\u2264]",
        ),
        ("before|until|till|prior|earlier", "after|since|later|following"),
        ("to|into|onto|towards?", "from|off"),
        ("in|inside|within|inwards?|inbound", "out|outside|outwards?|outbound"),
        ("forwards?|ahead", "backwards?|behind"),
        ("clockwise", "anticlockwise|counterclockwise"),
        ("positive(?:ly)?", "negative(?:ly)?"),
        ("imports?|imported", "exports?|exported"),
        ("win(?:s|ning)?|won|victory", "los(?:e|es|t|s|ing)|defeat"),
    )
)
_PASSAGE = re.compile(r"\bto\b|(?<=\d)\s?[-/:]\s?(?=\d)")
_END = re.compile(r"[\w%]+")


def opposed(one: str, other: str) -> bool:
    """Whether one text has a word whose opposite the other has in its place, or goes the other way.

    Words that both have say nothing. The texts are plain, with marks spelt alike.
    """
    mine, theirs = _tokens(one), _tokens(other)
    here, there = _poles(mine - theirs), _poles(theirs - mine)
    if any((axis, -pole) in there - here and (axis, pole) not in there for axis, pole in here):
        return True
    way = _ends(one)
    return len(way) == 2 and way != way[::-1] == _ends(other)


@lru_cache(maxsize=65_536)
def _tokens(text: str) -> frozenset[str]:
    return frozenset(_TOKEN.findall(_COMPASS.sub(r"\1 ", text.casefold())))


@lru_cache(maxsize=65_536)
def _ends(text: str) -> tuple[frozenset[str], ...]:
    """The words of each part of "from A to B" or "A/B"; one part for any other text."""
    parts = _PASSAGE.split(text.casefold())
    return tuple(frozenset(_END.findall(part)) - {"from", "the", "between"} for part in parts)


def _poles(words: frozenset[str]) -> set[tuple[int, int]]:
    return {pole for word in words for pole in _poles_of(word)}


@lru_cache(maxsize=65_536)
def _poles_of(word: str) -> tuple[tuple[int, int], ...]:
    """Which side of which axes a word stands on: 1 or -1."""
    return tuple(
        (number, side)
        for number, axis in enumerate(_AXES)
        for side, pattern in zip((1, -1), axis, strict=True)
        if pattern.fullmatch(word)
    )
