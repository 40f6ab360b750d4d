"""English words of one meaning, inflections that no rule can join, and people of a country.

Written by hand from general knowledge. A group holds words that answer a question alike in almost
every context; words that merely belong together (spring, autumn) are in no group. A word may be in
several groups ("fire"): two words are alike if one group holds both.
"""

import gzip
import re
from bisect import bisect_left
from functools import cache, lru_cache
from threading import Lock

from snowballstemmer import stemmer

from radarstream.connectors.models.answer_agreement.known_names import COUNTRIES, COUNTRY_NAMES
from radarstream.connectors.models.answer_agreement.tables import FOLDER, rows
from radarstream.connectors.models.answer_agreement.words import key_of

# Countries of whose people the name follows no rule, or is that of another country.
_NO_RULE = frozenset(("niger", "dominica", "guinea", "congo"))
_LONG_ADVERB = 6  # letters from which "ly" is an ending
_LEAST_ROOT = 3
_ENDING = re.compile(
    r"(?:er|or|ation|ion|ment|ing|ed|al|ance|ence|e|ive|iv|ity|iti|ness|y|i|t|or|ant|ent)$"
)
_TOO_SHORT = 2  # letters of words that keep their endings


@cache
def _base_forms() -> dict[str, str]:
    return {form: group[0] for group in rows("inflections") for form in group[1:]}


@cache
def _words() -> dict[str, list[tuple[str, int]]]:
    """The words of all groups by the letter that a stem of theirs begins with, each with the number
    of its group. A stem begins as its word does, or as the base form of an irregular one.
    """
    found: dict[str, list[tuple[str, int]]] = {}
    for number, group in enumerate(rows("synonyms") + rows("peoples") + _peoples_by_rule()):
        for word in group:
            for letter in {word[0], _base_forms().get(word, word)[0]}:
                found.setdefault(letter, []).append((word, number))
    return found


@cache  # by letter, since to stem all words takes half a second
def _groups(letter: str) -> dict[str, set[int]]:
    """For each stem that begins with the letter the numbers of the groups that hold it."""
    found: dict[str, set[int]] = {}
    for word, number in _words().get(letter, ()):
        for stem in (stem_of(word), _snowball(word)):
            found.setdefault(stem, set()).add(number)
    return found


def _peoples_by_rule() -> list[list[str]]:
    """Each country with the regular forms of its people: Kenya, Kenyan; Sudan, Sudanese."""
    endings = ("n", "nian", "an", "ian", "ese", "i", "lese")
    groups = []
    for country in (name.casefold() for name in COUNTRY_NAMES):
        if country not in _NO_RULE:
            short = country[:-1] if country[-1] in "aeo" else country
            forms = [stem + ending for stem in (country, short) for ending in endings]
            groups.append([country, *dict.fromkeys(forms)])
    return groups


@cache
def _countries() -> frozenset[str]:
    peoples = rows("peoples") + _peoples_by_rule()
    return frozenset(word for group in peoples for word in group)


def is_of_a_country(lowered: str) -> bool:
    """Whether a word in lower case names a country or its people."""
    return lowered in _countries() or key_of(lowered) in COUNTRIES


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
    found, _, sets = _wordnet()[at].partition("\t") if at < len(_wordnet()) else ("", "", "")
    return frozenset(sets.split()) if found == phrase else frozenset()


_STEMMER = stemmer("english")
_LOCK = Lock()  # the stemmer keeps its word in itself


@lru_cache(maxsize=65_536)
def _snowball(word: str) -> str:
    if len(word) <= _TOO_SHORT or not word.isascii():
        return word
    with _LOCK:
        return str(_STEMMER.stemWord(word))


def stem_of(lowered: str) -> str:
    """The stem of a word, irregular forms included.

    >>> stem_of("bought") == stem_of("buys"), stem_of("children")
    (True, 'child')
    """
    base = _base_forms().get(lowered, lowered)
    if len(base) > _LONG_ADVERB and base.endswith("men"):
        base = f"{base[:-2]}an"  # firemen
    return _snowball(base.removesuffix("ly") if len(base) > _LONG_ADVERB else base)


@lru_cache(maxsize=65_536)
def root_of(word: str) -> str:
    """A word without its derivational endings: what "voters" and "voted" have in common."""
    found = stem_of(word)
    while len(shorter := _ENDING.sub("", found)) >= _LEAST_ROOT and shorter != found:
        found = shorter
    return found


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
