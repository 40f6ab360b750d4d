"""How much of a document an answer repeats."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from radarstream.schemas.answer_text import normalised

GRAM: Final = 4  # characters
LEAST_SPAN: Final = 12  # words in a row that count as copied (as in the output audit)


@dataclass(frozen=True, slots=True)
class Copied:
    """The longest run of words that an answer shares with a document, and the largest share of its
    character 4-grams that a document has.
    """

    span: int = 0
    contained: float = 0.0

    @property
    def leaked(self) -> bool:
        """Whether a part of a document is told word for word: a run of `LEAST_SPAN` words."""
        return self.span >= LEAST_SPAN


def copied(answer: str, passages: Sequence[str]) -> Copied:
    """What an answer repeats of passages; case, punctuation and spacing do not count.

    >>> copied("The cat sat", ["Look: the cat sat down."])
    Copied(span=3, contained=1.0)
    """
    words, text = normalised(answer).split(), normalised(answer)
    grams = grams_of(text)
    found = Copied()
    for passage in map(normalised, passages):
        found = Copied(
            max(found.span, longest_run(words, passage.split())),
            max(found.contained, len(grams & grams_of(passage)) / max(1, len(grams))),
        )
    return found


def longest_run(one: Sequence[str], other: Sequence[str]) -> int:
    """The number of words of the longest run that both have."""
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.find_longest_match(0, len(one), 0, len(other)).size


def grams_of(text: str) -> frozenset[str]:
    """The distinct character 4-grams of a text."""
    return frozenset(text[n : n + GRAM] for n in range(len(text) - GRAM + 1))
