"""Whether one of some shares is too large: the variance of percentages."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


def variance_of_shares(shares: FloatArray) -> float:
    """The population variance of (n,) percentages, in percent squared; 0 without any. 50 in this
    unit is .005 for shares that sum to 1.
    """
    return float(shares.var()) if len(shares) else 0.0


def most_attended(shares: FloatArray, threshold: float) -> int | None:
    """Place of the largest of (n,) percentages; None if their variance is at most `threshold`. Of
    equal ones the last. Equal shares, and a share alone, have variance 0.
    """
    if variance_of_shares(shares) <= threshold:
        return None
    return len(shares) - 1 - int(np.argmax(shares[::-1]))


def ascending(shares: FloatArray) -> IntArray:
    """(n,) places, the least share first; equal ones stay in their order."""
    return np.asarray(np.argsort(shares, kind="stable"))
