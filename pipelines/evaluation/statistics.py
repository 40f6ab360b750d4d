"""Intervals and tests for rates whose steps share questions.

- Percentile bootstrap over questions (B. Efron, 1979): the steps of one question are not
  independent, so questions are resampled, never steps.
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

RESAMPLES = 10_000
PERMUTATIONS = 10_000
_TAILS = (0.025, 0.975)
_ENUMERATED = 13  # questions with a difference up to which all sign patterns are tried
_HELD = 2_000_000  # draws of questions that are in memory at once
_ROUNDING = 1e-9  # sums that differ by less are equal


def ratio_intervals(
    hits: FloatArray, trials: FloatArray, *, seed: int, resamples: int = RESAMPLES
) -> FloatArray:
    """95 % intervals of the ratios sum(hits) / sum(trials), columns being different ratios.

    `hits` and `trials` are (questions, ratios), each entry what one question contributes to one
    ratio; hits may be negative (a difference). Returns (ratios, 2): low and high. Resamples
    without a trial are left out; a ratio without any trial has NaN.
    """
    if hits.shape != trials.shape or hits.ndim != 2:
        raise ValueError(f"need two equal matrices, got {hits.shape} and {trials.shape}")
    questions, ratios = hits.shape
    found = np.full((resamples, ratios), np.nan)
    rng = np.random.default_rng(seed)
    at_once = max(1, _HELD // max(1, questions))
    for start in range(0, resamples if questions else 0, at_once):
        part = found[start : start + at_once]
        counts = rng.multinomial(questions, [1.0 / questions] * questions, size=len(part))
        drawn = counts.astype(float) @ trials
        np.divide(counts.astype(float) @ hits, drawn, out=part, where=drawn > 0)
    intervals = np.full((ratios, 2), np.nan)
    known = ~np.isnan(found).all(axis=0)
    if known.any():
        intervals[known] = np.nanquantile(found[:, known], _TAILS, axis=0).T
    return intervals


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
    order = np.argsort(p_values, kind="stable")
    scaled = np.asarray(p_values, dtype=float)[order] * np.arange(len(order), 0, -1)
    adjusted = np.empty(len(order))
    adjusted[order] = np.maximum.accumulate(np.minimum(scaled, 1.0))
    return [float(value) for value in adjusted]
