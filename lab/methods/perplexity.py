"""How improbable texts are to a language model."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from radarstream.defenses.kernels.responsibility import LEAST
from radarstream.defenses.protocol import Asking, Complete, LogProbs, LogProbsAll, ask
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import Task

NOTHING_BEFORE: Final = Complete(Task.BARE_TEXT, "", (), final=False)


def perplexities(texts: Sequence[str]) -> Asking[FloatArray]:
    """(n,) exp of the mean negative logarithm of each token's probability; 1 at least. 1 for a text
    without a character to read.
    """
    readable = [text.strip() for text in texts]
    asked = [text for text in dict.fromkeys(readable) if text]
    requests = tuple(LogProbs((NOTHING_BEFORE,), text) for text in asked)
    found = {"": 1.0}
    for text, logs in zip(asked, (yield from ask(LogProbsAll(requests))), strict=True):
        found[text] = float(np.exp(surprise(logs)))
    return np.array([found[text] for text in readable])


def surprise(log_probs: FloatArray) -> float:
    """The mean negative logarithm of the probabilities of (1, t) tokens, in [0, 100]."""
    return float(-log_probs.clip(LEAST, 0.0).mean())
