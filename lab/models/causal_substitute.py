"""A substitute for a masked language model: llama.cpp reads a text from left to right.

It tells how probable a word is after those before it, and nothing of what follows the word. So its
probabilities are not those that GMTP was published with: unexpected words are improbable to both,
but so is the first mention of a name to this one. Reports name it by its `model_id`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.lab.insights import MaskedQuery
from radarstream.schemas.evidence import FloatArray

CHARACTERS: Final = 300  # of a text that are read before a word
_START: Final = "\n"  # stands before the first word of a text


@dataclass(frozen=True, slots=True)
class CausalSubstitute:
    """Probabilities of words after those before them, of a GGUF file's or the embedded weights.

    The probability of a span is the geometric mean of those of its tokens, 1 for an empty span.
    `model_path` and `threads` as for `GgufTokens`, which loads and converts the weights.
    """

    model_path: Path | None = None
    threads: int | None = None

    @property
    def model_id(self) -> str:
        """Says that it is a substitute, and of which weights."""
        return f"causal-substitute/{CHARACTERS}/{self.tokens.model_id}"

    @property
    def tokens(self) -> GgufTokens:
        """What tells the probabilities of tokens."""
        return GgufTokens(self.model_path, self.threads)

    def masked(self, queries: Sequence[MaskedQuery]) -> list[FloatArray]:
        """Per query (s,) probabilities, in order. Raises ModelError."""
        pairs = [before_and_hidden(q.text, *span) for q in queries for span in q.spans]
        asked = [pair for pair in pairs if pair[1].strip()]
        logs = iter(self.tokens.after_texts(asked))
        found = iter([np.exp(next(logs).mean()) if hidden.strip() else 1.0 for _, hidden in pairs])
        return [np.array([next(found) for _ in q.spans], np.float64) for q in queries]


def before_and_hidden(text: str, start: int, stop: int) -> tuple[str, str]:
    """What is read before a span, and the span with the space before it, as tokens have it.

    >>> before_and_hidden("Bo is mayor.", 6, 11)
    ('Bo is', ' mayor')
    """
    while start and text[start - 1] == " ":
        start -= 1
    return text[max(0, start - CHARACTERS) : start] or _START, text[start:stop]
