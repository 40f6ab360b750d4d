"""Tests of paired differences between two contenders on the same questions.

- McNemar's exact test for one answer a question (Q. McNemar, 1947): two-sided binomial test of
  the pairs in which only one side hits.
- Sign-flip permutation over questions for histories: under the null hypothesis the sign of a
  question's difference is arbitrary. All sign patterns where they are few, otherwise seeded draws
  with the add-one estimate, which never gives 0 (B. Phipson and G. Smyth, 2010).
- Holm's step-down correction (S. Holm, 1979), valid under any dependence. SciPy has none.
"""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from scipy import stats

from radarstream.schemas.evidence import FloatArray

PERMUTATIONS = 9_999  # as many sign patterns are tried, or drawn where there are more


class PairedTest(StrEnum):
    """How a p-value was computed."""

    MCNEMAR = "McNemar, exact"
    SIGN_FLIP = "sign flips over questions, exact"
    SIGN_FLIP_DRAWN = "sign flips over questions, drawn"


def mcnemar_exact(only_one: int, only_other: int) -> float:
    """Two-sided p-value; the arguments count the pairs in which only that side hits.

    >>> round(mcnemar_exact(1, 9), 6)
    0.021484
    """
    if only_one < 0 or only_other < 0:
        raise ValueError("counts of pairs must not be negative")
    pairs = only_one + only_other
    return float(stats.binomtest(only_one, pairs).pvalue) if pairs else 1.0


def sign_flip(differences: FloatArray, *, seed: int) -> tuple[float, PairedTest]:
    """Two-sided p-value of the sum of (questions,) differences, and how it was found."""
    moved = differences[differences != 0.0]
    drawn = 2 ** len(moved) > PERMUTATIONS
    test = PairedTest.SIGN_FLIP_DRAWN if drawn else PairedTest.SIGN_FLIP
    if len(moved) < 2:  # one question alone never differs by more than chance
        return 1.0, test
    found = stats.permutation_test(
        (moved,),
        np.sum,
        permutation_type="samples",
        n_resamples=PERMUTATIONS,
        rng=np.random.default_rng(seed),
    )
    return min(1.0, float(found.pvalue)), test


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm-adjusted p-values in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    scaled = np.asarray(p_values, dtype=float)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(scaled, 1.0))
    return [float(value) for value in adjusted]
