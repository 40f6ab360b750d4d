"""The objective of attacks on the generator: how probable a text makes the target."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from radarstream.pipelines.evaluation.attacks.whitebox.flipping import Texts
from radarstream.pipelines.signals.ports import TokenScorer
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Task
from radarstream.schemas.tokens import ContinuationQuery


@dataclass(frozen=True, slots=True)
class Persuasion:
    """The logarithm of the probability of the target as the answer to the question, read alone.

    It has no gradient here: `directions` are zero. Each text is asked for once.
    """

    scorer: TokenScorer
    question: str
    target: str
    _known: dict[str, float] = field(default_factory=dict, init=False)

    def directions(self, rows: FloatArray) -> FloatArray:
        """(c, d) zeros."""
        return np.zeros_like(rows)

    def values(self, texts: Sequence[Texts], _: FloatArray) -> FloatArray:
        """(n,) natural logarithms. Raises ModelError."""
        asked = [together[0] for together in texts]
        new = [text for text in dict.fromkeys(asked) if text not in self._known]
        if new:
            prompts = tuple(
                build_prompt(Task.ANSWER_FROM_DOCUMENTS, self.question, (text,)) for text in new
            )
            (rows,) = self.scorer.log_probs([ContinuationQuery(prompts, self.target)])
            if rows.shape[0] != len(new) or np.isnan(rows).any():
                raise ModelError(f"{self.scorer.model_id} did not return a row of numbers a prompt")
            self._known.update(zip(new, rows.sum(axis=1).tolist(), strict=True))
        return np.array([self._known[text] for text in asked])
