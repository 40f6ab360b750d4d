"""A substitute for attention: how much less probable an answer is without each passage.

For models that do not tell their attention, such as llama.cpp and services. It is another quantity:
of two passages that say the same, neither makes a difference, where both would be attended to.
Reports name it by its `model_id`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from radarstream.connectors.models.wrapping import TokenScorer
from radarstream.lab.insights import AttentionQuery, percentages
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import ContinuationQuery

LEAST: Final = -100.0  # logarithm of a probability; less counts as this


@dataclass(frozen=True, slots=True)
class AblatedAttention:
    """Shares of passages in an answer: the drop of its log-probability when each is left out.

    The logarithms of all tokens of the answer's first line are summed. A passage without which the
    answer is as probable, or more, has the share 0. Costs n + 1 readings for n passages.
    """

    tokens: TokenScorer

    @property
    def model_id(self) -> str:
        """Says that it is a substitute, and of which weights."""
        return f"leave-one-out-substitute-1/{self.tokens.model_id}"

    def attention(self, queries: Sequence[AttentionQuery]) -> list[FloatArray]:
        """Per query (n,) percentages, in order. Raises ModelError."""
        said = [query.first_line for query in queries]
        asked = []
        for query, answer in zip(queries, said, strict=True):
            prompt, shown = query.prompt, query.prompt.passages
            if answer and shown:
                without = (shown[:place] + shown[place + 1 :] for place in range(len(shown)))
                prompts = (prompt, *(replace(prompt, passages=fewer) for fewer in without))
                asked.append(ContinuationQuery(prompts, answer))
        found = iter(self.tokens.log_probs(asked) if asked else ())
        return [
            self._shares(next(found), len(query.prompt.passages))
            if answer and query.prompt.passages
            else np.zeros(len(query.prompt.passages))
            for query, answer in zip(queries, said, strict=True)
        ]

    def _shares(self, logs: FloatArray, count: int) -> FloatArray:
        if logs.ndim != 2 or len(logs) != count + 1 or np.isnan(logs).any():
            raise ModelError(f"{self.model_id} did not get a row of numbers per prompt")
        whole, *without = logs.clip(LEAST, 0.0).sum(axis=1)
        return percentages(np.maximum(whole - np.array(without), 0.0))
