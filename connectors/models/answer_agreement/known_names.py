"""Names that general knowledge joins: countries, and what well-known acronyms stand for."""

from collections.abc import Iterable
from functools import cache

from radarstream.connectors.models.answer_agreement.tables import mapping, rows, words
from radarstream.connectors.models.answer_agreement.words import key_of, plain_text, read_words


def _keys(names: Iterable[str]) -> frozenset[str]:
    return frozenset(key_of(name.casefold()) for name in names)


COUNTRY_NAMES = tuple(sorted(words("countries")))
COUNTRIES = _keys(COUNTRY_NAMES)  # words that behind a comma say in which country a place is
STATES = _keys(words("states"))
SEVERAL_PLACES = _keys(words("several_places"))
_OF_TWO_WORDS = _keys(("north", "south", "new", "west", "island", "british"))
_AMERICAN = {"UK": ("Britain",), "USA": ("America", "US")}
# Places of several countries or states, with those in which the best known one is.
BEST_KNOWN = {
    key_of(city.casefold()): _keys(
        name for place in places.split(",") for name in (place, *_AMERICAN.get(place, ()))
    )
    for city, places in mapping("best_known").items()
}
# Family names of which one bearer is meant unless another is named, with that one's given names.
_BEARERS = {
    key_of(family.casefold()): _keys(given.split(","))
    for family, given in mapping("families").items()
}
# What stands for each acronym that is written in capitals inside a longer answer.
_ALONE = words("acronyms_alone")
ACRONYMS = {short: long for short, long, *_ in rows("acronyms") if short not in _ALONE}


def is_state(keys: frozenset[str] | set[str]) -> bool:
    """Whether these keys name a state or province, such as "Ohio" or "North Carolina"."""
    return bool(keys - _OF_TWO_WORDS) and keys - _OF_TWO_WORDS <= STATES


def has_other_bearer(family: str, given: Iterable[str]) -> bool:
    """Whether a well-known family name alone means somebody without any of these given names.

    >>> has_other_bearer("trump", {"ivanka"}), has_other_bearer("trump", {"donald"})
    (True, False)
    """
    return family in _BEARERS and _BEARERS[family].isdisjoint(given)


def bare(text: str) -> str:
    """Keys of the content words of a text, joined: the form in which expansions are compared."""
    return " ".join(word.key for word in read_words(plain_text(text)))


@cache
def _table() -> dict[str, frozenset[str]]:
    return {short.casefold(): frozenset(map(bare, longs)) for short, *longs in rows("acronyms")}


def expansions(acronym: str) -> frozenset[str]:
    """What a well-known acronym stands for, each in `bare` form; empty for any other.

    >>> bare("North Atlantic Treaty Organization") in expansions("nato")
    True
    """
    return _table().get(acronym, frozenset())
