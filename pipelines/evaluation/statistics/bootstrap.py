"""Percentile bootstrap over questions (B. Efron, 1979), vectorised over many ratios at once.

The steps of one question are not independent, so questions are resampled, never steps.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from radarstream.schemas.evidence import FloatArray

RESAMPLES = 10_000
_HELD = 2_000_000  # counts of resampled questions that are in memory at once
_TAILS = (0.025, 0.975)


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
    if questions:
        start = 0
        for counts in _resampled(questions, resamples, seed):
            drawn = counts @ trials
            stop = start + len(counts)
            np.divide(counts @ hits, drawn, out=found[start:stop], where=drawn > 0)
            start = stop
    intervals = np.full((ratios, 2), np.nan)
    known = ~np.isnan(found).all(axis=0)
    if known.any():
        intervals[known] = np.nanquantile(found[:, known], _TAILS, axis=0).T
    return intervals


def _resampled(questions: int, resamples: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each question is drawn in each resample, (some resamples, questions) at a time."""
    rng = np.random.default_rng(seed)
    at_once = max(1, _HELD // questions)
    shares = np.full(questions, 1.0 / questions)
    for start in range(0, resamples, at_once):
        counts = rng.multinomial(questions, shares, size=min(at_once, resamples - start))
        yield counts.astype(np.float64)
