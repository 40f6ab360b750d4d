"""Intervals and paired differences of rates, which know which answers share a question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from radarstream.pipelines.evaluation.defences.scoreboard import Difference
from radarstream.pipelines.evaluation.rates import wilson_interval
from radarstream.pipelines.evaluation.statistics import (
    PairedTest,
    holm,
    mcnemar_exact,
    ratio_intervals,
    sign_flip,
)
from radarstream.schemas.evidence import FloatArray

ANSWER = ("condition", "query_id", "step")  # what tells the answers of one contender apart
_NO_SPREAD = 1e-9


@dataclass(frozen=True, slots=True)
class Questions:
    """What is resampled and how often: the questions that the answers belong to."""

    ids: tuple[str, ...]
    static: bool
    seed: int
    resamples: int

    @staticmethod
    def of(frame: pl.DataFrame, *, seed: int, resamples: int) -> "Questions":
        """The questions of a table of answers, sorted. Static when none has a second step."""
        ids = tuple(frame["query_id"].unique().sort())
        return Questions(ids, not (frame["step"] > 0).any(), seed, resamples)

    def totals(self, values: pl.DataFrame) -> tuple[FloatArray, FloatArray]:
        """The sum and the number of values per question, (questions,) each.

        `values` has the columns `query_id` and `value`; a value that is null does not count.
        """
        sums = values.group_by("query_id").agg(pl.col("value").sum(), n=pl.col("value").count())
        asked = pl.DataFrame({"query_id": self.ids}, schema={"query_id": pl.String()})
        found = asked.join(sums, on="query_id", how="left", maintain_order="left").fill_null(0)
        return found["value"].cast(float).to_numpy(), found["n"].cast(float).to_numpy()

    def intervals(
        self, columns: Sequence[pl.DataFrame], *, span: tuple[float, float] = (0.0, 1.0)
    ) -> FloatArray:
        """95 % bootstrap intervals, (columns, 2), of the mean of the values of each frame.

        Values lie in `span`. Where all questions are alike, resampling them shows no spread: see
        `otherwise`.
        """
        if not columns:
            return np.empty((0, 2))
        hits, trials = map(np.column_stack, zip(*map(self.totals, columns), strict=True))
        found = ratio_intervals(hits, trials, seed=self.seed, resamples=self.resamples)
        for i in np.flatnonzero(found[:, 1] - found[:, 0] < _NO_SPREAD):
            mean = hits[:, i].sum() / trials[:, i].sum()
            found[i] = otherwise(float(mean), int(np.count_nonzero(trials[:, i])), span)
        return found


def otherwise(mean: float, questions: int, span: tuple[float, float]) -> tuple[float, float]:
    """Interval of a mean that all questions share, of values in `span`.

    None of them is otherwise; by Wilson's upper limit for none of so many, at most that share of
    all questions can be, and those by as much as values allow.
    """
    share = wilson_interval(0, questions)[1]
    return mean - share * (mean - span[0]), mean + share * (span[1] - mean)


def values_of(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The answers that are scored in a column of yes and no, their `value` 1 or 0."""
    value = pl.col(column).cast(float).alias("value")
    scored = frame.filter(pl.col("error").is_null() & pl.col(column).is_not_null())
    return scored.select(*ANSWER, value)


def paired(ours: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
    """Our value minus theirs, for every answer that both sides have."""
    both = ours.join(theirs, on=list(ANSWER), how="inner", suffix="_theirs")
    return both.with_columns(value=pl.col("value") - pl.col("value_theirs"))


def differences(
    pairs: Sequence[tuple[pl.DataFrame, pl.DataFrame]], column: str, questions: Questions
) -> list[Difference]:
    """One difference per pair of a contender's and the reference's answers, in order.

    Holm's correction takes all of them as one family.
    """
    columns = [paired(values_of(ours, column), values_of(theirs, column)) for ours, theirs in pairs]
    intervals = questions.intervals(columns, span=(-1.0, 1.0))
    found = [
        _difference(values, bounds, _excluded(*pair), questions)
        for pair, values, bounds in zip(pairs, columns, intervals, strict=True)
    ]
    corrected = iter(holm([d.p_value for d in found if d.p_value is not None]))
    return [d if d.p_value is None else replace(d, p_holm=next(corrected)) for d in found]


def _excluded(ours: pl.DataFrame, theirs: pl.DataFrame) -> int:
    """How many answers failed or are missing on either side."""
    sound = pl.col("error").is_null().sum().alias("sound")
    sides = pl.concat([ours, theirs]).group_by(ANSWER).agg(sound)
    return int((sides["sound"] < 2).sum())


def _difference(
    values: pl.DataFrame, bounds: FloatArray, excluded: int, questions: Questions
) -> Difference:
    found = values["value"].to_numpy()
    only_contender, only_reference = int((found > 0).sum()), int((found < 0).sum())
    test = PairedTest.MCNEMAR if questions.static else PairedTest.SIGN_FLIP
    if not len(found):
        return Difference(None, None, None, None, None, test, 0, excluded, 0, 0)
    if questions.static:
        p_value = mcnemar_exact(only_contender, only_reference)
    else:
        p_value, test = sign_flip(questions.totals(values)[0], seed=questions.seed)
    return Difference(
        value=float(found.mean()),
        low=float(bounds[0]),
        high=float(bounds[1]),
        p_value=p_value,
        p_holm=None,
        test=test,
        pairs=len(found),
        excluded=excluded,
        only_contender=only_contender,
        only_reference=only_reference,
    )
