"""Paired differences of two contenders, which know which answers share a question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from radarstream.pipelines.evaluation.intervals import Interval
from radarstream.pipelines.evaluation.paired_intervals import difference_interval
from radarstream.pipelines.evaluation.rates import QUESTION
from radarstream.pipelines.evaluation.statistics import (
    PairedTest,
    holm,
    mcnemar_exact,
    sign_flip,
)
from radarstream.schemas.evidence import FloatArray

ANSWER = ("condition", "query_id", "step")  # what tells the answers of one contender apart


@dataclass(frozen=True, slots=True)
class Difference:
    """A contender's rate minus the reference's, over the answers that both could be scored on.

    `pairs` are those answers; `excluded` answers are left out because one of the two failed or is
    missing. `only_contender` and `only_reference` count the pairs in which that one alone hits.
    The interval is Tango's over questions (see `intervals`); `p_holm` is corrected for all
    differences of the same quantity.
    """

    value: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_holm: float | None
    test: PairedTest
    pairs: int
    excluded: int
    only_contender: int
    only_reference: int


def values_of(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The answers that are scored in a column of yes and no, their `value` 1 or 0."""
    value = pl.col(column).cast(float).alias("value")
    scored = frame.filter(pl.col("error").is_null() & pl.col(column).is_not_null())
    return scored.select(*ANSWER, value)


def paired(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """Our value minus theirs, for every answer that both sides have."""
    both = ours.join(theirs, on=list(ANSWER), how="inner", suffix="_theirs")
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


def mean_interval(values: pl.DataFrame, span: float = 1.0) -> Interval:
    """The 95 % interval of the mean of paired values in [-span, span]."""
    gains, losses, n = by_question(values)
    low, high = difference_interval(gains / span, losses / span, n).tolist()
    return span * low, span * high


def differences(
    pairs: Sequence[tuple[pl.DataFrame, pl.DataFrame]], column: str, *, static: bool, seed: int
) -> list[Difference]:
    """One difference per pair of a contender's and the reference's answers, in order.

    `static` says that a question has one answer. Holm's correction takes all of them as one family.
    """
    found = []
    for ours, theirs in pairs:
        values = paired(values_of(ours, column), values_of(theirs, column))
        found.append(_difference(values, _excluded(ours, theirs), static=static, seed=seed))
    corrected = iter(holm([d.p_value for d in found if d.p_value is not None]))
    return [d if d.p_value is None else replace(d, p_holm=next(corrected)) for d in found]


def _excluded(ours: pl.DataFrame, theirs: pl.DataFrame) -> int:
    """How many answers failed or are missing on either side."""
    sound = pl.col("error").is_null().sum().alias("sound")
    sides = pl.concat([ours, theirs]).group_by(ANSWER).agg(sound)
    return int((sides["sound"] < 2).sum())


def _difference(values: pl.DataFrame, excluded: int, *, static: bool, seed: int) -> Difference:
    found = values["value"].to_numpy()
    only_contender, only_reference = int((found > 0).sum()), int((found < 0).sum())
    test = PairedTest.MCNEMAR if static else PairedTest.SIGN_FLIP
    if not len(found):
        return Difference(None, None, None, None, None, test, 0, excluded, 0, 0)
    if static:
        p_value = mcnemar_exact(only_contender, only_reference)
    else:
        gains, losses, _ = by_question(values)
        p_value, test = sign_flip(gains - losses, seed=seed)
    low, high = mean_interval(values)
    return Difference(
        value=float(found.mean()),
        low=low,
        high=high,
        p_value=p_value,
        p_holm=None,
        test=test,
        pairs=len(found),
        excluded=excluded,
        only_contender=only_contender,
        only_reference=only_reference,
    )
