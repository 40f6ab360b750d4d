"""Whether two groups of texts could be chance: do several scores of the same texts agree?"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.responsibility import SAME, finite, standard_scores

FloatArray = NDArray[np.float64]

SHUFFLES: Final = 4_999
SEED: Final = 0


def chance_of_separation(scores: FloatArray) -> float:
    """How often scores that know nothing of each other would part the texts as clearly.

    `scores` are m kinds of scores of n texts, (m, n). A permutation test: each row keeps its values
    but is shuffled by itself, so that nothing but the agreement of the rows is lost. What is
    compared is the largest part of the squared distances between mean standard scores that a split
    in two explains, which is what two-means maximises. Returns (1 + as clear) / (1 + shuffles), in
    [1 / 5000, 1]; 1 for a single row, fewer than two texts, or rows that are constant. The same for
    texts in any order; deterministic. Needs n of at least 5 to fall below 0.05 where one text
    stands out of the others: the chance that three rows favour the same one is 1 / n^2.

    Takes O(5000 m n log n) time. Raises ValueError on a value that is not finite.
    """
    rows = [standard_scores(finite(row)) for row in scores]
    if len(rows) < 2 or len(rows[0]) < 2:
        return 1.0
    observed = explained(np.mean(rows, axis=0)[np.newaxis])[0]
    if observed <= SAME:
        return 1.0
    rng = np.random.default_rng(SEED)
    shuffled = np.zeros((SHUFFLES, len(rows[0])))
    for row in rows:  # sorted first: the order of the texts must not decide
        shuffled += rng.permuted(np.tile(np.sort(row), (SHUFFLES, 1)), axis=1)
    as_clear = explained(shuffled / len(rows)) >= observed * (1.0 - SAME)
    return float((1 + as_clear.sum()) / (1 + SHUFFLES))


def explained(values: FloatArray) -> FloatArray:
    """The most of their squared distances to the mean that a split in two explains.

    Per row of (b, n) numbers, n >= 2; (b,).
    """
    ordered = np.sort(values, axis=1)
    centred = ordered - ordered.mean(axis=1, keepdims=True)
    sizes = np.arange(1, values.shape[1])
    # Centred numbers sum to 0, so both groups' sums are opposite.
    squares = np.cumsum(centred, axis=1)[:, :-1] ** 2
    return np.asarray((squares / sizes + squares / sizes[::-1]).max(axis=1))
