"""How far apart the embeddings of retrieved documents are, and how fast their similarity falls."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

NORMAL: Final = 0.6745  # the median distance to the median, in standard deviations of a normal
LEAST_DEVIATION: Final = 1e-9  # where more than half of what was calibrated on is equal


def dispersion(embeddings: FloatArray) -> float:
    """M_DIS of (k, d) rows: 1 less the mean cosine of two rows, in [0, 2]; 0 for fewer than two.

    A row of zeros is orthogonal to all. ADO, section 4.3.2.

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
    """M_DRP: the similarity of the best document less that of the last; 0 for fewer than two.

    `similarities` are (k,), best first.

    >>> round(drop_off(np.array([0.82, 0.6, 0.55])), 6)
    0.27
    """
    return float(similarities[0] - similarities[-1]) if len(similarities) else 0.0


def robust_z(value: float, median: float, mad: float) -> float:
    """How many standard deviations `value` is from the median, as the median distance tells them.

    `mad` is the median absolute distance to the median.

    >>> round(robust_z(3.0, 1.0, 0.6745), 6)
    2.0
    """
    return NORMAL * (value - median) / max(mad, LEAST_DEVIATION)
