"""How far apart the embeddings of retrieved documents are, and how fast their similarity falls."""

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.spikes import NORMAL

FloatArray = NDArray[np.float64]
Variant = Literal["paper", "v1", "v2"]

LEAST_DEVIATION: Final = 1e-9  # where more than half of what was calibrated on is equal


def dispersion(embeddings: FloatArray, variant: Variant = "paper") -> float:
    """M_DIS of (k, d) rows; 0 for fewer than two. ADO, section 4.3.2.

    "paper": 1 less the mean cosine of two rows, in [0, 2]; a row of zeros is orthogonal to all.
    Two public programs compute other things, whose thresholds do not carry over: "v1", the mean
    over the dimensions of the variance; "v2", the variance of the distances to the centroid.

    >>> rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> [round(dispersion(rows, variant), 6) for variant in ("paper", "v1", "v2")]
    [0.533333, 0.177778, 0.057584]
    """
    rows = np.asarray(embeddings, dtype=np.float64)
    if len(rows) < 2:
        return 0.0
    if variant == "v1":
        return float(rows.var(axis=0).mean())
    if variant == "v2":
        return float(np.linalg.norm(rows - rows.mean(axis=0), axis=1).var())
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)
    first, second = np.triu_indices(len(rows), 1)
    return 1.0 - float((units @ units.T)[first, second].mean())


def drop_off(similarities: FloatArray, variant: Variant = "paper") -> float:
    """M_DRP: the similarity of the best document less that of the last; 0 for fewer than two.

    `similarities` are (k,), best first. "v1" takes the absolute value; "v2" the relative form,
    1 less the quotient.

    >>> values = np.array([0.82, 0.6, 0.55])
    >>> round(drop_off(values), 6), round(drop_off(values, "v2"), 6)
    (0.27, 0.329268)
    """
    if len(similarities) < 2:
        return 0.0
    best, last = float(similarities[0]), float(similarities[-1])
    if variant == "v2":
        return 1.0 - last / best if best else 0.0
    return abs(best - last) if variant == "v1" else best - last


def robust_z(value: float, median: float, mad: float) -> float:
    """How many standard deviations `value` is from the median, as the median distance tells them.

    `mad` is the median absolute distance to the median.

    >>> round(robust_z(3.0, 1.0, 0.6745), 6)
    2.0
    """
    return NORMAL * (value - median) / max(mad, LEAST_DEVIATION)
