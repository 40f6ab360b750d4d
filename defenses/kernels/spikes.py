"""Values that stand out from a few others."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.responsibility import standard_scores

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

NORMAL: Final = 0.6745  # the median distance to the median, in standard deviations of a normal


def combined(signals: list[FloatArray]) -> FloatArray:
    """(n,) sums of the standard scores of each signal; one that is equal throughout adds nothing.

    A single spike among n equal values has the score sqrt(n - 1).
    """
    return np.asarray(np.sum([standard_scores(signal) for signal in signals], axis=0))


def modified_scores(values: FloatArray) -> FloatArray:
    """(n,) distances to the median in units that up to half of the values cannot move.

    Iglewicz and Hoaglin, "How to Detect and Handle Outliers" (1993). Zeros where more than half
    are equal.
    """
    if not len(values):
        return np.zeros(0)
    apart = values - np.median(values)
    spread = float(np.median(np.abs(apart)))
    return np.asarray(NORMAL * apart / spread) if spread > 0.0 else np.zeros(len(values))
