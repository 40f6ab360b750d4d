"""Which words of a document MBA hides: those that a proxy model finds hardest to guess.

The rank of a word is the rank of its first token under the proxy, given the text before it. So the
attacker hides what hardly anyone can fill in who does not have the document: one
word per section, at least 20 characters apart.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, runtime_checkable

from radarstream.lab.attacks.texts import WORDINGS
from radarstream.pipelines.signals.ports import Model
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import ContinuationQuery, Task

MASKS: Final = 5  # hidden words, M in the paper
MOST_WORDS: Final = 500  # of a document that are probed
MOST_CHARACTERS: Final = 400  # with the request, what a model is shown of a question
LEAST_APART: Final = 20  # characters between the beginnings of two hidden words
_WORD: Final = re.compile(r"(?<!\S)[^\W\d_]{3,}(?![\w'\u2019-])")
_COMMON: Final = frozenset(WORDINGS["service"]["common_words"].split())


@runtime_checkable
class Proxy(Model, Protocol):
    """A language model that tells how many tokens it holds for more probable than another."""

    def ranks(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """Per query (r,) ranks, from 1, of the continuation's first token after each prompt."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """A word that may be hidden: (start, end) characters and its rank; higher is harder."""

    start: int
    end: int
    rank: float


def cut(text: str) -> str:
    """The beginning of a document that is probed, up to whole words.

    >>> cut("one  two")
    'one two'
    """
    words = text.split()[:MOST_WORDS]
    while words and sum(map(len, words)) + len(words) - 1 > MOST_CHARACTERS:
        words.pop()
    return " ".join(words)


def candidates(text: str) -> Iterator[tuple[int, int]]:
    """The (start, end) of every word that may be hidden: letters only, at least three of them, not
    common, and behind a space or nothing, as a proxy reads it.
    """
    for match in _WORD.finditer(text):
        if match[0].casefold() not in _COMMON:
            yield match.span()


def ranked(text: str, proxy: Proxy) -> list[Hidden]:
    """The candidates of a text with their ranks, from 1, under the proxy. Raises ModelError."""
    found = []
    for start, end in candidates(text):
        prompt = build_prompt(Task.CONTINUE_TEXT, "", (text[:start].rstrip(),))
        (ranks,) = proxy.ranks([ContinuationQuery((prompt,), text[start:end])])
        found.append(Hidden(start, end, float(ranks[0])))
    return found


def chosen(text: str, words: Sequence[Hidden], masks: int = MASKS) -> tuple[tuple[int, int], ...]:
    """The (start, end) of the words that are hidden, in the order of the text.

    The text is divided into as many sections of equal length as there are masks. Each gives its
    word of the highest rank that is far enough from those chosen before; what is missing then is
    filled up with the highest ranks left. Of equal ranks the first word counts. A text with few
    words has fewer masks.
    """
    hardest = sorted(words, key=lambda word: (-word.rank, word.start))
    found: list[Hidden] = []

    def take(allowed: Sequence[Hidden]) -> bool:
        for word in allowed:
            if all(abs(word.start - other.start) >= LEAST_APART for other in found):
                found.append(word)
                return True
        return False

    for section in range(masks):
        low, high = (len(text) * edge / masks for edge in (section, section + 1))
        take([word for word in hardest if low <= word.start < high])
    while len(found) < masks and take(hardest):
        pass
    return tuple(sorted((word.start, word.end) for word in found))
