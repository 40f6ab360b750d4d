"""What all models that tell shares of attention have in common: what is read, and the unit."""

from typing import Final

import numpy as np

from radarstream.schemas.evidence import FloatArray

ANSWER_CHARACTERS: Final = 1_200  # of an answer that are read, from its beginning


def first_line(answer: str) -> str:
    r"""What is read of an answer.

    >>> first_line(" Rome \nQuestion: who?")
    'Rome'
    """
    return answer[:ANSWER_CHARACTERS].strip().partition("\n")[0].strip()


def percentages(values: FloatArray) -> FloatArray:
    """(n,) values of at least 0 as percentages of their sum; zeros stay zeros."""
    total = values.sum()
    return np.asarray(100.0 * (values / total)) if total > 0.0 else np.zeros(len(values))
