"""Texts by how improbable the tokens are that decide what they are found for.

The steps are those of GMTP. A text's saliences are the lengths of the gradients of its tokens.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

EQUAL = 1e-12  # relative: saliences nearer to their mean are not above it


def salient(saliences: FloatArray, most: int) -> IntArray:
    """Places of the at most `most` highest of (t,) saliences that are above their mean, in order.
    Of equal ones the earliest. None where all are equal.
    """
    if not len(saliences):
        return np.zeros(0, np.intp)
    above = np.flatnonzero(saliences > saliences.mean() * (1.0 + EQUAL))
    highest = above[np.argsort(-saliences[above], kind="stable")[:most]]
    return np.asarray(np.sort(highest))


def lowest_mean(probabilities: FloatArray, count: int) -> float:
    """The mean of the at most `count` lowest of (t,) probabilities; 0 where there is none."""
    found = np.sort(probabilities)[:count]
    return float(found.mean()) if len(found) else 0.0


def reference_mean(probabilities: Sequence[FloatArray], count: int) -> float:
    """The mean over the `count` lowest of every text, for texts that answer their question. The
    published code takes 1,000 pairs of a question and such a text. Raises ValueError without a
    single probability.
    """
    found = np.concatenate([np.zeros(0), *(np.sort(values)[:count] for values in probabilities)])
    if not len(found):
        raise ValueError("a reference needs the probability of at least one token")
    return float(found.mean())
