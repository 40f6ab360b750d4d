"""How steady the gradients of a similarity are under disturbances, and what unsteadiness costs.

The equations are those of ProGRank. Gradients come as Gram matrices G, (n, R, R): the inner
products of the R gradients of each of n passages, from which every length below follows.
"""

from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stability:
    """What the gradients of n passages do from run to run; rows are NaN where a gradient is.

    `consistency` is (n,), Rep of equation 4: 1 where all gradients are equal, 0 where they cancel.
    `deviations` is (n, R), dev_r of equation 6: distance to the mean over the mean's length.
    """

    consistency: FloatArray
    deviations: FloatArray


def stability(grams: FloatArray, eps: float) -> Stability:
    """Equations 4 and 6 from (n, R, R) Gram matrices; `eps` > 0 keeps divisors from 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.diagonal(grams, axis1=1, axis2=2)  # squared, of each gradient
        mean = np.maximum(grams.mean(axis=(1, 2)), 0.0)  # squared length of the mean gradient
        consistency = np.sqrt(mean) / np.sqrt(lengths.mean(axis=1) + eps)
        apart = lengths - 2.0 * grams.mean(axis=2) + mean[:, None]
        deviations = np.sqrt(np.maximum(apart, 0.0)) / (np.sqrt(mean)[:, None] + eps)
    finite = np.isfinite(np.column_stack([consistency, deviations])).all(axis=1)
    return Stability(
        np.where(finite, np.minimum(consistency, 1.0), np.nan),
        np.where(finite[:, None], deviations, np.nan),
    )


def consistency_penalty(consistency: FloatArray, eps: float) -> FloatArray:
    """P_rep of equation 5, (n,), in [0, -log eps]; the most where a consistency is NaN."""
    known = np.nan_to_num(consistency, nan=0.0)
    return np.asarray(np.maximum(-np.log(known + eps), 0.0))


def dispersion_penalty(
    deviations: FloatArray, *, tau: float, alpha: float, ceiling: float, eps: float
) -> FloatArray:
    """P_dr of equations 7 to 10, (n,), in [0, ceiling); the ceiling where deviations are NaN. The
    `tau`-quantile over the runs of exp(-alpha dev), between runs by linear interpolation.
    """
    known = np.isfinite(deviations.sum(axis=1))
    scores = np.exp(-alpha * np.where(known[:, None], deviations, 0.0))
    low = np.quantile(scores, tau, axis=1)
    raw = np.maximum(-np.log(low + eps) / np.maximum(low, eps), 0.0)
    return np.where(known, saturated(raw, ceiling, eps), ceiling)


def saturated(penalty: FloatArray, ceiling: float, eps: float) -> FloatArray:
    """Equation 10: a penalty >= 0 that levels off below `ceiling`."""
    return np.asarray(ceiling * (penalty / (penalty + ceiling + eps)))


def gate_centre(similarities: FloatArray) -> float:
    """The mu of equation 11: about the nearest ceil(sqrt(n)) of n > 0 candidates exceed it."""
    count = len(similarities)
    return float(np.quantile(similarities, 1.0 - ceil(sqrt(count)) / count))


def gate(similarities: FloatArray, centre: float, temperature: float) -> FloatArray:
    """The w of equation 12, (n,) in [0, 1]: the share of a penalty that counts. A `temperature` of
    1 is the paper's; a lower one makes the step at `centre` steeper.
    """
    return np.asarray(0.5 * (1.0 + np.tanh((similarities - centre) / (2.0 * temperature))))
