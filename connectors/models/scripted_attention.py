"""Attention without a network, for tests and dry runs: passages that say the words of an answer
share it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from radarstream.connectors.models.attention_shares import first_line, percentages
from radarstream.connectors.models.scripted import Scripted
from radarstream.schemas.attention import AttentionQuery
from radarstream.schemas.evidence import FloatArray

_WORD: Final = re.compile(r"[^\W_]+")


@dataclass
class ScriptedAttention(Scripted):
    """Shares by how often a passage has a word of the answer's first line."""

    def attention(self, queries: Sequence[AttentionQuery]) -> list[FloatArray]:
        """Per query (n,) percentages, in order. Raises ModelError where told to."""
        self.begin(queries)
        return [_shares(query) for query in queries]


def _shares(query: AttentionQuery) -> FloatArray:
    said = set(_words(first_line(query.answer)))
    counts = [sum(word in said for word in _words(text)) for text in query.prompt.passages]
    return percentages(np.array(counts, np.float64))


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]
