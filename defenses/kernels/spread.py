"""Kernels of ADO: the spread of embeddings, and how fast similarities fall."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

NORMAL: Final = 0.6745  # median distance to the median of a normal, in standard deviations
LEAST_DEVIATION: Final = 1e-9  # against division by 0 if more than half of the sample is equal


def dispersion(embeddings: FloatArray) -> float:
    """Return M_DIS of (k, d) rows: 1 less the mean cosine of two rows; 0 for fewer than two rows.

    It is in [0, 2]. A row of zeros has cosine 0 to all. ADO, section 4.3.2.

    >>> round(dispersion(np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])), 6)
    0.533333
    """
    rows = np.asarray(embeddings, dtype=np.float64)
    if len(rows) < 2:
        return 0.0
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    units = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0.0)
    first, second = np.triu_indices(len(rows), 1)
    return 1.0 - float((units @ units.T)[first, second].mean())


def drop_off(similarities: FloatArray) -> float:
    """Return M_DRP, the first of (k,) similarities less the last; 0 for fewer than two.

    >>> round(drop_off(np.array([0.82, 0.6, 0.55])), 6)
    0.27
    """
    return float(similarities[0] - similarities[-1]) if len(similarities) else 0.0


def robust_z(value: float, median: float, mad: float) -> float:
    """Return the distance of `value` from the median, in standard deviations estimated from `mad`.

    `mad` is the median absolute distance to the median.

    >>> round(robust_z(3.0, 1.0, 0.6745), 6)
    2.0
    """
    return NORMAL * (value - median) / max(mad, LEAST_DEVIATION)
