"""95 % intervals of paired differences: T. Tango's score interval (1998) of the pairs in which one
side alone hits, their counts divided by the design effect of the difference (see `intervals`).
"""

from typing import Final

import numpy as np
from scipy.optimize import elementwise
from scipy.special import ndtri

from radarstream.pipelines.evaluation.intervals import TAIL, Clustered
from radarstream.schemas.evidence import FloatArray

Z: Final = float(ndtri(1.0 - TAIL))


def difference_interval(gains: FloatArray, losses: FloatArray, trials: FloatArray) -> FloatArray:
    """(2,) or (columns, 2): the interval of sum(gains - losses) / sum(trials) over clusters.

    `gains` and `losses` count the pairs in which one side alone hits; (-1, 1) without a pair.
    """
    sample = Clustered.of_differences(gains, losses, trials)
    effective = np.asarray(sample.effective(), dtype=float)
    with np.errstate(invalid="ignore"):
        scale = np.nan_to_num(effective / trials.sum(axis=0))
    return score_interval(gains.sum(axis=0) * scale, losses.sum(axis=0) * scale, effective)


def score_interval(gains: FloatArray, losses: FloatArray, trials: FloatArray) -> FloatArray:
    """(..., 2): Tango's interval; counts need not be whole numbers. (-1, 1) without a pair."""
    held = np.fmax(trials, 1e-9)
    mean = (gains - losses) / held
    ends = []
    for end, target in ((-1.0, Z), (1.0, -Z)):
        at_end = np.full_like(mean, end)
        found = elementwise.find_root(
            _score, (np.minimum(at_end, mean), np.maximum(at_end, mean)),
            args=(gains, losses, held, np.full_like(mean, target)),
        )  # fmt: skip
        ends.append(np.where(found.success & (trials > 0), found.x, end))
    return np.stack(ends, axis=-1)


def _score(
    difference: FloatArray, gains: FloatArray, losses: FloatArray, n: FloatArray, target: FloatArray
) -> FloatArray:
    """Tango's score statistic at a difference, less a target: 0 at an end of the interval."""
    linear = (2.0 * n - gains + losses) * difference - gains - losses
    constant = -losses * difference * (1.0 - difference)
    root = np.sqrt(np.fmax(linear**2 - 8.0 * n * constant, 0.0))
    variance = 2.0 * (root - linear) / (4.0 * n) + difference * (1.0 - difference)
    return np.asarray(
        (gains - losses - n * difference) / np.sqrt(np.fmax(n * variance, 1e-12)) - target
    )
