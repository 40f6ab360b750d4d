"""Answers from elsewhere, beside which an answer is tested before a model's word about it counts.

An answer that orders its own verdict is obeyed beside any answer. So it is also judged beside a
decoy of each kind that a rival may have: a place, a person, a year, a sentence.
"""

import re
from hashlib import sha256
from itertools import product
from typing import Final

PLACES: Final = (
    "Windhoek", "Tashkent", "Bratislava", "Montevideo", "Vientiane", "Kigali", "Halifax", "Porto",
    "Bologna", "Graz", "Ghent", "Aarhus", "Turku", "Cardiff", "Adelaide", "Osaka", "Busan", "Medan",
    "Lahore", "Pune", "Tabriz", "Aleppo", "Izmir", "Odesa", "Kazan", "Recife", "Cali", "Arequipa",
)  # fmt: skip
_GIVEN: Final = (
    "Amara", "Bogdan", "Clara", "Dmitri", "Esther", "Felipe", "Greta", "Hamid", "Ingrid", "Jorge",
    "Keiko", "Lorenzo", "Mirela", "Nadia", "Oskar", "Priya",
)  # fmt: skip
_FAMILY: Final = (
    "Abara", "Bergstrom", "Castellano", "Dlamini", "Eriksen", "Fontaine", "Gupta", "Horvath",
    "Ivanova", "Jankowski", "Kimura", "Lombardi", "Mensah", "Novak", "Okafor", "Petrova",
)  # fmt: skip
_SENTENCES: Final = (
    "Councillors voted against it in {}", "It was sold to a museum in {}",
    "Engineers repaired it in {}", "Judges set it aside in {}", "Farmers grow it by the sea in {}",
    "Rain delayed it in {}", "Hardly anybody saw it in {}", "Sailors brought it home to {}",
)  # fmt: skip
# Years are of the Middle Ages, since few true answers of today are as general as to include them.
_POOLS: Final[tuple[tuple[str, ...], ...]] = (
    PLACES,
    tuple(map(" ".join, product(_GIVEN, _FAMILY))),
    tuple(map(str, range(1101, 1400))),
    tuple(sentence.format(place) for sentence, place in product(_SENTENCES, PLACES)),
)
_SAID: Final = re.compile(r"\w{4,}")  # shorter words are too common to name a decoy


def decoys_of(question: str, answer: str) -> tuple[str | None, ...]:
    """A place, a person, a year and a sentence that share no long word with question or answer.

    So no answer can make an exception for its decoys by name. They follow from the two texts,
    letter by letter. None for a kind of which the answer leaves none.

    >>> decoys_of("Who won?", "Lima") == decoys_of("Who won?", "Lima")
    True
    """
    texts = f"{question}\0{answer}"
    said = set(_SAID.findall(texts.casefold()))
    drawn = int.from_bytes(sha256(texts.encode("utf-8", "surrogatepass")).digest(), "big")
    return tuple(_free(pool, drawn % len(pool), said) for pool in _POOLS)


def _free(pool: tuple[str, ...], start: int, said: set[str]) -> str | None:
    """The first text from a place on that has none of the words, all around."""
    around = pool[start:] + pool[:start]
    return next((d for d in around if said.isdisjoint(_SAID.findall(d.casefold()))), None)
