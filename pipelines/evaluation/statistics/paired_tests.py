"""Tests of paired differences, and the correction for making many of them.

- McNemar's exact test for one answer a question (Q. McNemar, 1947): two-sided binomial test of
  the pairs in which only one side hits.
- Sign-flip permutation over questions for histories: under the null hypothesis the sign of a
  question's difference is arbitrary. All sign patterns where they are few, otherwise seeded draws
  with the add-one estimate, which never gives 0 (B. Phipson and G. Smyth, 2010).
- Holm's step-down correction (S. Holm, 1979), valid under any dependence.
"""

from collections.abc import Sequence
from enum import StrEnum
from math import comb

import numpy as np

from radarstream.schemas.evidence import FloatArray

PERMUTATIONS = 10_000
_ENUMERATED = 13  # questions with a difference up to which all sign patterns are tried
_HELD = 2_000_000
_ROUNDING = 1e-9  # sums that differ by less are equal


class PairedTest(StrEnum):
    """How a p-value was computed."""

    MCNEMAR = "McNemar, exact"
    SIGN_FLIP = "sign flips over questions, exact"
    SIGN_FLIP_DRAWN = "sign flips over questions, drawn"


def mcnemar_exact(only_one: int, only_other: int) -> float:
    """Two-sided p-value; the arguments count the pairs in which only that side hits.

    >>> mcnemar_exact(1, 9)
    0.021484375
    """
    if only_one < 0 or only_other < 0:
        raise ValueError("counts of pairs must not be negative")
    pairs = only_one + only_other
    tail = sum(comb(pairs, i) for i in range(min(only_one, only_other) + 1))
    return min(1.0, 2 * tail / (1 << pairs))


def sign_flip(differences: FloatArray, *, seed: int) -> tuple[float, PairedTest]:
    """Two-sided p-value of the sum of (questions,) differences, and how it was found."""
    moved = differences[differences != 0.0]
    if len(moved) <= _ENUMERATED:
        patterns = np.arange(2 ** len(moved))[:, None] >> np.arange(len(moved)) & 1
        sums = np.abs((1.0 - 2.0 * patterns) @ moved)
        return float(np.mean(sums >= abs(moved.sum()) - _ROUNDING)), PairedTest.SIGN_FLIP
    rng = np.random.default_rng(seed)
    at_once = max(1, _HELD // len(moved))
    extreme = 0
    for start in range(0, PERMUTATIONS, at_once):
        size = (min(at_once, PERMUTATIONS - start), len(moved))
        sums = np.abs((1.0 - 2.0 * rng.integers(0, 2, size=size)) @ moved)
        extreme += int(np.sum(sums >= abs(moved.sum()) - _ROUNDING))
    return (extreme + 1) / (PERMUTATIONS + 1), PairedTest.SIGN_FLIP_DRAWN


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm-adjusted p-values in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted = [0.0] * len(p_values)
    highest = 0.0
    for place, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = highest
    return adjusted
