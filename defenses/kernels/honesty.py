"""What a source's past says of its documents: a bounded term of the cut, and its uncertainty."""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

# Of the logit grid: fine enough for any posterior, and so wide that nothing is left beyond it.
_POINTS = 20_001
_REACH = 20.0  # standard deviations


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
    """The equal-tailed interval of Beta(honest, dishonest) with this mass; parameters at least 1.

    Integrates the density over the logit, where it is smooth for all parameters and falls off
    exponentially on both sides, by the trapezoidal rule.
    """
    spread = _REACH * np.sqrt(1.0 / honest + 1.0 / dishonest)
    logits = np.log(honest / dishonest) + np.linspace(-spread, spread, _POINTS)
    log_density = -honest * np.logaddexp(0.0, -logits) - dishonest * np.logaddexp(0.0, logits)
    density = np.exp(log_density - log_density.max())
    steps = np.concatenate([[0.0], np.cumsum(density[1:] + density[:-1])])
    tails = np.array([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0])
    low, high = 1.0 / (1.0 + np.exp(-np.interp(tails * steps[-1], steps, logits)))
    return float(low), float(high)
