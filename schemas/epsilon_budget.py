"""The epsilon that a user may spend in a corpus on thresholds that are drawn with noise.

Each threshold of `defenses.retrieval.dp_rag` costs its epsilon, and costs add up (sequential
composition of differential privacy). The sum bounds what the thresholds tell of one document; what
the documents found, and their number, tell besides is not counted.
"""

from math import inf
from typing import Final

ROUNDING: Final = 1e-9  # three times .1 is more than .3 in floating point


def most_spent(epsilon: float, budget: float) -> float:
    """The sum that may be reached by spending `epsilon`.

    Raises ValueError unless epsilon is positive and finite: no threshold is drawn for another.
    """
    if not 0.0 < epsilon < inf:
        raise ValueError(f"a threshold costs a positive, finite epsilon, not {epsilon}")
    return budget * (1.0 + ROUNDING)
