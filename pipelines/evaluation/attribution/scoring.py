"""Rates of attributors: what they flag against what was planted (RAGOrigin, section 6.1).

Over the texts in scope, poison being the positives:

- DACC = (TP + TN) / all, FPR = FP / (FP + TN), FNR = FN / (FN + TP);
- micro: counts are added up over cases, as RAGOrigin does; macro: the mean of the cases' rates,
  as RAGForensics does. The two cannot be compared with each other;
- `fnr_corpus`: planted texts that were not flagged, in scope or not, over all that were planted.

A rate without a denominator counts as 0; `empty` counts these cases. Bystanders, texts that
somebody else planted, are neither right nor wrong to flag and count nowhere.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from radarstream.pipelines.evaluation.attribution.rows import AttributionRow, EventRow, Role
from radarstream.pipelines.evaluation.intervals import Interval, rate_interval
from radarstream.pipelines.evaluation.rates import QUESTION
from radarstream.schemas.evidence import FloatArray

COUNTS = ("tp", "fp", "tn", "fn", "planted")
tp, fp, tn, fn, planted = map(pl.col, COUNTS)
RATES = {  # hits and trials
    "dacc": (tp + tn, tp + fp + tn + fn),
    "fpr": (fp, fp + tn),
    "fnr": (fn, fn + tp),
    "fnr_corpus": (planted - tp, planted),
}


@dataclass(frozen=True, slots=True)
class Confusion:
    """Texts of one case by what they are and whether they were flagged.

    `planted` is how many poisoned texts the corpus held, those out of scope included.
    """

    tp: int
    fp: int
    tn: int
    fn: int
    planted: int


@dataclass(frozen=True, slots=True)
class Score:
    """One rate over cases; `empty` cases have no denominator, and count as 0 in `macro`.

    Intervals are 95 % (see `intervals`), cases of one question being a cluster; None without a
    trial.
    """

    micro: float
    macro: float
    empty: int
    micro_interval: Interval | None
    macro_interval: Interval | None


def confusion(event: EventRow, row: AttributionRow) -> Confusion:
    """Compare what was flagged in scope with what was planted."""
    counts = {(role, flagged): 0 for role in Role for flagged in (True, False)}
    for text in event.texts[: row.scope]:
        counts[text.role, text.id in row.flagged] += 1
    return Confusion(
        tp=counts[Role.POISON, True],
        fp=counts[Role.BENIGN, True],
        tn=counts[Role.BENIGN, False],
        fn=counts[Role.POISON, False],
        planted=len(event.planted),
    )


def scores(counts: pl.DataFrame) -> dict[str, Score]:
    """Every rate by its name, over lines with `COUNTS` and a question; nothing without a line."""
    if counts.is_empty():
        return {}
    hits, trials = (
        counts.select(pair[side].cast(pl.Float64).alias(n) for n, pair in RATES.items()).to_numpy()
        for side in (0, 1)
    )
    rates = np.divide(hits, trials, out=np.zeros_like(hits), where=trials > 0)
    _, places = np.unique(counts[QUESTION].to_numpy(), return_inverse=True)
    micro = rate_interval(summed(hits, places), summed(trials, places))
    macro = rate_interval(summed(rates, places), summed(np.ones_like(rates), places))
    return {
        name: Score(
            micro=float(hits[:, i].sum() / trials[:, i].sum()) if trials[:, i].any() else 0.0,
            macro=float(rates[:, i].mean()),
            empty=int((trials[:, i] == 0).sum()),
            micro_interval=_known(micro[i], trials[:, i]),
            macro_interval=_known(macro[i], trials[:, i]),
        )
        for i, name in enumerate(RATES)
    }


def summed(values: FloatArray, places: NDArray[np.intp]) -> FloatArray:
    """The sums of the rows of (n, columns) that share a place; (places, columns)."""
    sums = np.zeros((places.max() + 1, values.shape[1]))
    np.add.at(sums, places, values)
    return sums


def _known(interval: FloatArray, trials: FloatArray) -> Interval | None:
    return (float(interval[0]), float(interval[1])) if trials.any() else None
