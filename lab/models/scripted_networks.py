"""Gradients, hidden words and attention without a network, for tests and dry runs.

They are weak on purpose in the way real networks are: the gradients of a passage that repeats the
question vary most, words without a vowel are improbable, and passages that say the words of an
answer share its attention.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

import numpy as np

from radarstream.connectors.models.scripted import Scripted
from radarstream.lab.insights import (
    AttentionQuery,
    MaskedQuery,
    ProbeQuery,
    SalienceQuery,
    TokenSalience,
    percentages,
)
from radarstream.schemas.evidence import FloatArray

PARAMETERS: Final = 16
CALM, SHAKEN = 0.1, 1.0  # how far gradients of runs are apart, of 1
_WORD: Final = re.compile(r"\w+")
_SPOKEN: Final = re.compile(r"[^\W_]+")
_VOWEL: Final = re.compile(r"[aeiouy\d]", re.IGNORECASE)


@dataclass
class ScriptedGradients(Scripted):
    """Gradients drawn from hashes of the question and the passage."""

    def probe(self, queries: Sequence[ProbeQuery]) -> FloatArray:
        """(m, r, r) Gram matrices. Raises ModelError where told to."""
        self.begin(queries)
        if not queries:
            return np.empty((0, 2, 2))
        return np.stack([_gram(query) for query in queries])

    def saliences(self, queries: Sequence[SalienceQuery]) -> list[tuple[TokenSalience, ...]]:
        """Per query the words of its passage; those of the question count most."""
        self.begin(queries)
        return [_words(query) for query in queries]


@dataclass
class ScriptedMasked(Scripted):
    """Probabilities drawn from a hash of the hidden words."""

    def masked(self, queries: Sequence[MaskedQuery]) -> list[FloatArray]:
        """Per query (s,) probabilities. Raises ModelError where told to."""
        self.begin(queries)
        return [
            np.array([_probability(query.text[start:stop]) for start, stop in query.spans], float)
            for query in queries
        ]


@dataclass
class ScriptedAttention(Scripted):
    """Shares by how often a passage has a word of the answer's first line."""

    def attention(self, queries: Sequence[AttentionQuery]) -> list[FloatArray]:
        """Per query (n,) percentages, in order. Raises ModelError where told to."""
        self.begin(queries)
        found = []
        for query in queries:
            said, texts = {*_spoken(query.first_line)}, query.prompt.passages
            counts = [sum(word in said for word in _spoken(text)) for text in texts]
            found.append(percentages(np.array(counts, np.float64)))
        return found


def _spoken(text: str) -> list[str]:
    return [word.casefold() for word in _SPOKEN.findall(text)]


def _gram(query: ProbeQuery) -> FloatArray:
    drawn = _drawn(query.question, query.passage, str((query.seed, query.layer)))
    spread = SHAKEN if query.question.casefold() in query.passage.casefold() else CALM
    mean = drawn.standard_normal(PARAMETERS)
    runs = mean + spread * drawn.standard_normal((query.runs, PARAMETERS))
    return np.asarray(runs @ runs.T)


def _words(query: SalienceQuery) -> tuple[TokenSalience, ...]:
    asked = {word.casefold() for word in _WORD.findall(query.question)}
    return tuple(
        TokenSalience(
            found.start(),
            found.end(),
            float(_drawn(found[0]).random()) + (found[0].casefold() in asked),
        )
        for found in _WORD.finditer(query.passage)
    )


def _probability(hidden: str) -> float:
    return float(_drawn(hidden).uniform(0.2, 0.8)) if _VOWEL.search(hidden) else 1e-4


def _drawn(*texts: str) -> np.random.Generator:
    """A generator whose seed is a hash of the texts."""
    told = "\0".join(texts).encode("utf-8", "surrogatepass")
    return np.random.default_rng(int.from_bytes(blake2b(told, digest_size=8).digest()))
