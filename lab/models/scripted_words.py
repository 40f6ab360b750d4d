"""An encoder without a network whose gradients are exact: the mean of the vectors of words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from radarstream.connectors.models.scripted import Scripted, ScriptedEmbedder
from radarstream.schemas.evidence import FloatArray

SUBSTITUTES: Final = 400
_PIECE: Final = re.compile(r"\w+|[^\w\s]")
_SYLLABLES: Final = [first + last for first in "bdfgklmnprstvz" for last in "aeiou"]


@dataclass
class ScriptedWords(Scripted):
    """A bag of words: each word a vector drawn from a hash, a text the mean of its words. What
    attacks may write are invented words and `words`, in lower case.
    """

    words: tuple[str, ...] = ()
    _known: list[str] = field(default_factory=list, init=False)
    _places: dict[str, int] = field(default_factory=dict, init=False)
    _vectors: dict[str, FloatArray] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._known += [*_invented(), *self.words]
        self._places |= {word: place for place, word in enumerate(self._known)}

    def embed(self, texts: Sequence[str]) -> FloatArray:
        """(m, d) rows of unit length."""
        self.begin(texts)
        means = np.array([self._mean(text) for text in texts])
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True))

    def tokens(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The words and marks of each text, in lower case."""
        found = []
        for text in texts:
            pieces = _PIECE.findall(text.lower())
            for piece in pieces:
                if piece not in self._places:
                    self._places[piece] = len(self._known)
                    self._known.append(piece)
            found.append(tuple(self._places[piece] for piece in pieces))
        return found

    def text(self, tokens: Sequence[int]) -> str:
        """Words between spaces."""
        return " ".join(self._known[token] for token in tokens)

    @cached_property
    def substitutes(self) -> NDArray[np.intp]:
        """(s,) what attacks may write."""
        return np.arange(SUBSTITUTES + len(self.words))

    @cached_property
    def substitute_rows(self) -> FloatArray:
        """(s, d) their vectors."""
        return np.array([self._vector(self._known[token]) for token in self.substitutes])

    def gradients(self, texts: Sequence[str], directions: FloatArray) -> list[FloatArray]:
        """Per text (tokens, d)."""
        self.begin(texts)
        found = []
        for tokens, text, wanted in zip(self.tokens(texts), texts, directions, strict=True):
            mean = self._mean(text)
            length = np.linalg.norm(mean)
            unit = mean / length
            row = (wanted - (wanted @ unit) * unit) / (length * max(1, len(tokens)))
            found.append(np.tile(row, (len(tokens), 1)))
        return found

    def _mean(self, text: str) -> FloatArray:
        words = _PIECE.findall(text.lower()) or [""]
        return np.asarray(np.mean([self._vector(word) for word in words], axis=0))

    def _vector(self, word: str) -> FloatArray:
        if word not in self._vectors:
            (self._vectors[word],) = ScriptedEmbedder().embed([word])
        return self._vectors[word]


def _invented() -> list[str]:
    return [
        first + _SYLLABLES[(7 * number + 3) % len(_SYLLABLES)] + last
        for number, (first, last) in enumerate(
            (first, last) for first in _SYLLABLES for last in _SYLLABLES
        )
    ][:SUBSTITUTES]
