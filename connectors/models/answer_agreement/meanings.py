"""What words mean: synonyms, opposites, forms of one word, countries, acronyms, bearers of names.

A group of synonyms holds words that answer a question alike in almost every context; words that
merely belong together (spring, autumn) are in no group. Two words of a group are alike.
"""

import gzip
import re
from bisect import bisect_left
from collections.abc import Iterable
from functools import cache, lru_cache
from threading import Lock

from snowballstemmer import stemmer

from radarstream.connectors.models.answer_agreement.tables import (
    FOLDER,
    first_of,
    mapping,
    pattern,
    rows,
    words,
)
from radarstream.connectors.models.answer_agreement.words import (
    STOPWORDS,
    key_of,
    plain_text,
    read_words,
)


def _keys(names: Iterable[str]) -> frozenset[str]:
    return frozenset(key_of(name.casefold()) for name in names)


def _keys_by_key(table: str) -> dict[str, frozenset[str]]:
    return {key_of(k.casefold()): _keys(v.split(",")) for k, v in mapping(table).items()}


COUNTRIES = _keys(words("countries"))  # words that behind a comma say in which country a place is
STATES = _keys(words("states"))
SEVERAL_PLACES = _keys(words("several_places"))
# Places of several countries or states, with those in which the best known one is.
BEST_KNOWN = _keys_by_key("best_known")
# Family names of which one bearer is meant unless another is named, with that one's given names.
_BEARERS = _keys_by_key("families")


def is_state(keys: set[str]) -> bool:
    """Whether these keys name a state or province, such as "Ohio" or "North Carolina"."""
    named = keys - _keys(("north", "south", "new", "west", "island", "british"))
    return bool(named) and named <= STATES


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
def _expansions() -> dict[str, frozenset[str]]:
    return {short.casefold(): frozenset(map(bare, longs)) for short, *longs in rows("acronyms")}


def expansions(acronym: str) -> frozenset[str]:
    """What a well-known acronym stands for, each in `bare` form; empty for any other.

    >>> bare("North Atlantic Treaty Organization") in expansions("nato")
    True
    """
    return _expansions().get(acronym, frozenset())


def is_of_a_country(lowered: str) -> bool:
    """Whether a word in lower case names a country or its people."""
    return key_of(lowered) in COUNTRIES or any(lowered in group for group in rows("peoples"))


_STEMMER, _LOCK = stemmer("english"), Lock()  # the stemmer keeps its word in itself
_LONG_ADVERB = 6  # letters from which "ly" is an ending
_TOO_SHORT = 2  # letters of words that keep their endings
_LEAST_ROOT = 3


@lru_cache(maxsize=65_536)
def _snowball(word: str) -> str:
    if len(word) <= _TOO_SHORT or not word.isascii():
        return word
    with _LOCK:
        return str(_STEMMER.stemWord(word))


@lru_cache(maxsize=65_536)
def stem_of(lowered: str) -> str:
    """The stem of a word, irregular forms included.

    >>> stem_of("bought") == stem_of("buys"), stem_of("children")
    (True, 'child')
    """
    base = first_of("inflections").get(lowered, lowered)
    if len(base) > _LONG_ADVERB:
        base = f"{base[:-2]}an" if base.endswith("men") else base.removesuffix("ly")
    return _snowball(base)


@lru_cache(maxsize=65_536)
def root_of(word: str) -> str:
    """A word without its derivational endings: what "voters" and "voted" have in common."""
    root = stem_of(word)
    while len(shorter := pattern("ENDING").sub("", root)) >= _LEAST_ROOT and shorter != root:
        root = shorter
    return root


@cache  # by letter, since to stem all words takes half a second
def _groups(letter: str) -> dict[str, set[int]]:
    """For each stem that begins with the letter the numbers of the groups that hold it."""
    groups, base_forms = dict[str, set[int]](), first_of("inflections")
    for number, group in enumerate((*rows("synonyms"), *rows("peoples"))):
        for word in group:
            if word[0] == letter or (word in base_forms and base_forms[word][0] == letter):
                for stem in (stem_of(word), _snowball(word)):
                    groups.setdefault(stem, set()).add(number)
    return groups


@lru_cache(maxsize=65_536)
def alike(one: str, other: str, *, stems: bool = True) -> bool:
    """Whether two words in lower case are forms of one word, or mean the same by the table.

    >>> alike("purchased", "bought"), alike("spring", "autumn")
    (True, False)
    """
    mine, theirs = ({word, stem_of(word), _snowball(word)} for word in (one, other))
    if mine & theirs:
        return stems
    known = [{n for s in side for n in _groups(s[:1]).get(s, ())} for side in (mine, theirs)]
    return bool(known[0] & known[1])


@cache
def _wordnet() -> list[str]:
    return gzip.decompress((FOLDER / "wordnet.tsv.gz").read_bytes()).decode().splitlines()


@lru_cache(maxsize=65_536)
def senses(phrase: str) -> frozenset[str]:
    """The sets of synonyms of WordNet that hold a phrase in small letters without marks.

    >>> senses("mark twain") == senses("samuel clemens")
    True
    """
    at = bisect_left(_wordnet(), f"{phrase}\t")
    entry, _, sets = _wordnet()[at].partition("\t") if at < len(_wordnet()) else ("", "", "")
    return frozenset(sets.split()) if entry == phrase else frozenset()


_AXES = tuple(tuple(map(re.compile, sides)) for sides in rows("opposites"))


@lru_cache(maxsize=65_536)
def _poles_of(word: str) -> frozenset[tuple[int, int]]:
    """Which side of which axes a word stands on: 1 or -1."""
    return frozenset(
        (number, side)
        for number, axis in enumerate(_AXES)
        for side, words_of_it in zip((1, -1), axis, strict=True)
        if words_of_it.fullmatch(word)
    )


@lru_cache(maxsize=65_536)
def are_opposites(one: str, other: str) -> bool:
    """Whether two words are opposites, by the tables or by a prefix such as "un".

    >>> are_opposites("rose", "fell"), are_opposites("unsafe", "safe")
    (True, True)
    """
    if any((axis, -side) in _poles_of(other) for axis, side in _poles_of(one)):
        return True
    un = pattern("OPPOSITE_OF")
    return any((of := un.fullmatch(a)) and of[1] == b for a, b in ((one, other), (other, one)))


def opposed(one: str, other: str) -> bool:
    """Whether one text says the opposite of the other, however alike their wording is.

    That is: another direction; a word that stands where the other has its opposite, with nothing
    else changed; the way back; or another day. The texts are plain, with marks spelt alike.
    """
    mine, theirs = _tokens(one), _tokens(other)
    here, there = mine - theirs, theirs - mine
    turned = {word for a in here for b in there if are_opposites(a, b) for word in (a, b)}
    if turned and (here | there) - turned <= STOPWORDS:
        return True
    days, others = (
        {frozenset(date.split("/")) for date in pattern("SLASHED").findall(text)}
        for text in (one, other)
    )
    if days and others and days.isdisjoint(others):
        return True
    way = _ends(one)
    return len(way) == 2 and way != way[::-1] == _ends(other)


@lru_cache(maxsize=65_536)
def _tokens(text: str) -> frozenset[str]:
    spelt = pattern("COMPASS_POINT").sub(r"\1 ", pattern("NON_").sub("non", text.casefold()))
    return frozenset(pattern("SIDE_TOKEN").findall(pattern("VOTE_FOR").sub(r"\1 favour", spelt)))


@lru_cache(maxsize=65_536)
def _ends(text: str) -> tuple[frozenset[str], ...]:
    """The words of each part of "from A to B" or "A/B"; one part for any other text."""
    parts = pattern("PASSAGE").split(text.casefold())
    return tuple(frozenset(pattern("END").findall(p)) - {"from", "the", "between"} for p in parts)
