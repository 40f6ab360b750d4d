"""What a source's past says of its documents: a bounded term of the cut, and its uncertainty."""

import numpy as np
import scipy  # loads its parts when they are used
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def distrust(honesty: FloatArray, neutral: float) -> FloatArray:
    """How much a document's source speaks against it, in [0, 1); any shape.

    1 - min(1, odds(honesty) / odds(neutral)): 0 for a source as honest as `neutral` or more, so
    that no reputation makes a document true, and never 1, so that others can outvote it. In (0, 1)
    both. For a posterior over a Beta(a, b) prior that saw only D dishonest: D / (b + D).
    """
    # In this form the ratio of equals is exactly 1.
    ratio = honesty * (1.0 - neutral) / ((1.0 - honesty) * neutral)
    return np.asarray(1.0 - np.minimum(1.0, ratio))


def credible_interval(honest: float, dishonest: float, mass: float = 0.95) -> tuple[float, float]:
    """The equal-tailed interval of Beta(honest, dishonest) with this mass."""
    low, high = scipy.special.betaincinv(honest, dishonest, [(1.0 - mass) / 2, (1.0 + mass) / 2])
    return float(low), float(high)
