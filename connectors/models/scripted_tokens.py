"""Token probabilities without a model: a byte at a time towards what a scripted generator says."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from radarstream.connectors.models.scripted import Scripted, ScriptedGenerator
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import ContinuationQuery, Prompt

STOP: Final = 256
VOCABULARY: Final = 257  # every byte, and the end of a reply
CERTAINTY: Final = 0.9999  # so that a refusal of twelve bytes is refused at .99


@dataclass
class ScriptedTokens(Scripted):
    """Follows the completion of `generator`; once a reply differs, every byte is equally likely."""

    generator: ScriptedGenerator = field(default_factory=ScriptedGenerator)

    def log_probs(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """(r, t) logarithms per query, t the bytes of its continuation. Raises ModelError."""
        self.begin(queries)
        return [continuation_rows(self._replies(q.prompts), q.continuation) for q in queries]

    def ranks(self, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        """(r,) ranks of the first byte per query: 1 or, beside the reply, 2. Raises ModelError."""
        logs = self.log_probs(queries)
        return [np.where(rows[:, 0] == np.log(CERTAINTY), 1.0, 2.0) for rows in logs]

    def _replies(self, prompts: Sequence[Prompt]) -> list[str]:
        return [completion.text for completion in self.generator.complete(prompts)]


def continuation_rows(replies: Sequence[str], continuation: str) -> FloatArray:
    """Logarithms of each byte of `continuation` in turn, (replies, bytes)."""
    said = continuation.encode("utf-8", "replace")
    if not said:
        raise ModelError("a continuation without a token has no probability")
    rows = [[distribution(r, said[:i])[byte] for i, byte in enumerate(said)] for r in replies]
    return np.array(rows, dtype=np.float64).reshape(len(replies), len(said))


def distribution(reply: str, said: bytes) -> FloatArray:
    """(VOCABULARY,) logarithms: almost surely on along `reply`, uniform beside it."""
    path = reply.encode("utf-8", "replace")
    if path[: len(said)] != said:
        return np.full(VOCABULARY, -np.log(VOCABULARY))
    row = np.full(VOCABULARY, np.log((1.0 - CERTAINTY) / (VOCABULARY - 1)))
    row[path[len(said)] if len(said) < len(path) else STOP] = np.log(CERTAINTY)
    return row
