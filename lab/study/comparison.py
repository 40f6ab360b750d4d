"""One comparison of two contenders on the same questions: differences, intervals and tests.

Intervals are T. Tango's score interval (1998), its counts divided by the design effect of the
difference (see `rates`). Tests are McNemar's exact one (1947) for one answer a question, and sign
flips over questions for histories: all patterns where they are few, otherwise seeded draws with the
add-one estimate (B. Phipson and G. Smyth, 2010). S. Holm's correction (1979) SciPy has not.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

import numpy as np
import polars as pl
from scipy.special import ndtri

from radarstream.lab.study.rates import QUESTION, TAIL, Clustered
from radarstream.schemas.evidence import FloatArray

ANSWER = ("condition", "query_id", "step")  # what tells the answers of one contender apart
LEVEL: Final = 0.05  # of a corrected p-value, below which a difference is significant
PERMUTATIONS = 9_999  # as many sign patterns are tried, or drawn where there are more
Z: Final = float(ndtri(1.0 - TAIL))
Cell = tuple[str, str]  # contender and condition


class PairedTest(StrEnum):
    """How a p-value was computed."""

    MCNEMAR = "McNemar, exact"
    SIGN_FLIP = "sign flips over questions, exact"
    SIGN_FLIP_DRAWN = "sign flips over questions, drawn"


@dataclass(frozen=True, slots=True)
class Difference:
    """A contender's rate minus the reference's, over the answers that both could be scored on.

    `pairs` are those answers. `only_contender` and `only_reference` count the pairs in which that
    one alone hits. The interval is Tango's over questions (see `rates`); `p_holm` is corrected for
    all differences of the same quantity.
    """

    value: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_holm: float | None
    test: PairedTest
    pairs: int
    only_contender: int
    only_reference: int

    @property
    def significant(self) -> bool:
        """Whether it is no chance, all that are compared with it taken together."""
        return self.p_holm is not None and self.p_holm < LEVEL


def paired(ours: pl.DataFrame, theirs: pl.DataFrame, column: str) -> pl.DataFrame:
    """Our `value` in a column of yes and no minus theirs, for every answer scored on both sides."""
    sides = (
        side.filter(pl.col("error").is_null() & pl.col(column).is_not_null()).select(
            *ANSWER, value=pl.col(column).cast(float)
        )
        for side in (ours, theirs)
    )
    both = next(sides).join(next(sides), on=list(ANSWER), how="inner", suffix="_theirs")
    return both.with_columns(value=pl.col("value") - pl.col("value_theirs"))


def by_question(values: pl.DataFrame) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The positive values, the negative ones without their sign, and the number of values, per
    question: (questions,) each.
    """
    value = pl.col("value")
    sums = values.group_by(QUESTION, maintain_order=True).agg(
        gains=value.clip(lower_bound=0.0).sum(),
        losses=-value.clip(upper_bound=0.0).sum(),
        n=pl.len(),
    )
    gains, losses, n = (sums[name].cast(float).to_numpy() for name in ("gains", "losses", "n"))
    return gains, losses, n


def differences(
    pairs: Sequence[tuple[pl.DataFrame, pl.DataFrame]], column: str, *, static: bool, seed: int
) -> list[Difference]:
    """One difference per pair of a contender's and the reference's answers, in order. `static` says
    that a question has one answer. Holm's correction takes all of them as one family.
    """
    found = [_difference(paired(*each, column), static=static, seed=seed) for each in pairs]
    corrected = iter(holm([d.p_value for d in found if d.p_value is not None]))
    return [d if d.p_value is None else replace(d, p_holm=next(corrected)) for d in found]


def _difference(values: pl.DataFrame, *, static: bool, seed: int) -> Difference:
    found = values["value"].to_numpy()
    only_contender, only_reference = int((found > 0).sum()), int((found < 0).sum())
    test = PairedTest.MCNEMAR if static else PairedTest.SIGN_FLIP
    if not len(found):
        return Difference(None, None, None, None, None, test, 0, 0, 0)
    if static:
        p_value = mcnemar_exact(only_contender, only_reference)
    else:
        gains, losses, _ = by_question(values)
        p_value, test = sign_flip(gains - losses, seed=seed)
    low, high = difference_interval(*by_question(values)).tolist()
    value, pairs = float(found.mean()), len(found)
    return Difference(value, low, high, p_value, None, test, pairs, only_contender, only_reference)


def mcnemar_exact(only_one: int, only_other: int) -> float:
    """Two-sided p-value; the arguments count the pairs in which only that side hits.

    >>> round(mcnemar_exact(1, 9), 6)
    0.021484
    """
    if only_one < 0 or only_other < 0:
        raise ValueError("counts of pairs must not be negative")
    pairs = only_one + only_other
    from scipy.stats import binomtest  # here and below: replays import this module, and need none

    return float(binomtest(only_one, pairs).pvalue) if pairs else 1.0


def sign_flip(differences: FloatArray, *, seed: int) -> tuple[float, PairedTest]:
    """Two-sided p-value of the sum of (questions,) differences, and how it was found."""
    moved = differences[differences != 0.0]
    drawn = 2 ** len(moved) > PERMUTATIONS
    test = PairedTest.SIGN_FLIP_DRAWN if drawn else PairedTest.SIGN_FLIP
    if len(moved) < 2:  # one question alone never differs by more than chance
        return 1.0, test
    from scipy.stats import permutation_test

    found = permutation_test(
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


def difference_interval(gains: FloatArray, losses: FloatArray, trials: FloatArray) -> FloatArray:
    """(2,) or (columns, 2): the interval of sum(gains - losses) / sum(trials) over clusters.
    `gains` and `losses` count the pairs in which one side alone hits; (-1, 1) without a pair.
    """
    sample = Clustered(gains - losses, gains + losses, trials)
    effective = np.asarray(sample.effective(), dtype=float)
    with np.errstate(invalid="ignore"):
        scale = np.nan_to_num(effective / trials.sum(axis=0))
    return score_interval(gains.sum(axis=0) * scale, losses.sum(axis=0) * scale, effective)


def score_interval(gains: FloatArray, losses: FloatArray, trials: FloatArray) -> FloatArray:
    """(..., 2): Tango's interval; counts need not be whole numbers. (-1, 1) without a pair."""
    from scipy.optimize.elementwise import find_root

    held = np.fmax(trials, 1e-9)
    mean = (gains - losses) / held
    ends = []
    for end, target in ((-1.0, Z), (1.0, -Z)):
        at_end = np.full_like(mean, end)
        found = find_root(
            _score, (np.minimum(at_end, mean), np.maximum(at_end, mean)),
            args=(gains, losses, held, np.full_like(mean, target))
        )  # fmt: skip
        ends.append(np.where(found.success & (trials > 0), found.x, end))
    return np.stack(ends, axis=-1)


def _score(
    difference: FloatArray, gains: FloatArray, losses: FloatArray, n: FloatArray, target: FloatArray
) -> FloatArray:
    """Tango's score statistic at a difference, less a target: 0 at an end of the interval."""
    linear = (2.0 * n - gains + losses) * difference - gains - losses
    constant = -losses * difference * (1.0 - difference)
    root = np.sqrt(np.fmax(linear**2 - 8.0 * n * constant, 0.0))
    variance = 2.0 * (root - linear) / (4.0 * n) + difference * (1.0 - difference)
    return np.asarray(
        (gains - losses - n * difference) / np.sqrt(np.fmax(n * variance, 1e-12)) - target
    )
