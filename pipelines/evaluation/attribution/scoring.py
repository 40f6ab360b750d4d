"""Scores of attributors: what they flag against what was planted (RAGOrigin, section 6.1).

Over the texts in scope, poison being the positives:

- DACC = (TP + TN) / all, FPR = FP / (FP + TN), FNR = FN / (FN + TP);
- micro: counts are added up over events, as RAGOrigin does; macro: the mean of the events' rates,
  as RAGForensics does. They do not compare with each other;
- `fnr_corpus`: planted texts that were not flagged, in scope or not, over all that were planted.

A rate without a denominator counts as 0 and is told by `empty`. Bystanders, texts that somebody
else planted, are neither right nor wrong to flag and count nowhere.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from radarstream.pipelines.evaluation.attribution.rows import AttributionRow, EventRow, Role
from radarstream.pipelines.evaluation.statistics.bootstrap import ratio_intervals

Interval = tuple[float, float]
Pair = tuple[EventRow, AttributionRow]


@dataclass(frozen=True, slots=True)
class Confusion:
    """Texts of one event by what they are and whether they were flagged.

    `planted` is how many poisoned texts the corpus held, those out of scope included.
    """

    tp: int
    fp: int
    tn: int
    fn: int
    planted: int

    def ratios(self) -> dict[str, tuple[int, int]]:
        """Hits and trials of every rate by its name."""
        tp, fp, tn, fn = self.tp, self.fp, self.tn, self.fn
        return {
            "dacc": (tp + tn, tp + fp + tn + fn),
            "fpr": (fp, fp + tn),
            "fnr": (fn, fn + tp),
            "fnr_corpus": (self.planted - tp, self.planted),
        }


@dataclass(frozen=True, slots=True)
class Score:
    """One rate over events; `empty` events have no denominator, and count as 0 in `macro`.

    Intervals are 95 %, from resampling events; None without a trial.
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


def scores(confusions: Sequence[Confusion], *, seed: int = 0) -> dict[str, Score]:
    """Every rate by its name; nothing without an event."""
    if not confusions:
        return {}
    names = list(confusions[0].ratios())
    found = [confusion.ratios() for confusion in confusions]
    hits = np.array([[ratios[n][0] for n in names] for ratios in found], dtype=np.float64)
    trials = np.array([[ratios[n][1] for n in names] for ratios in found], dtype=np.float64)
    rates = np.divide(hits, trials, out=np.zeros_like(hits), where=trials > 0)
    micro = ratio_intervals(hits, trials, seed=seed)
    macro = ratio_intervals(rates, np.ones_like(rates), seed=seed)
    return {
        name: Score(
            micro=float(hits[:, i].sum() / trials[:, i].sum()) if trials[:, i].any() else 0.0,
            macro=float(rates[:, i].mean()),
            empty=int((trials[:, i] == 0).sum()),
            micro_interval=interval(micro[i]),
            macro_interval=interval(macro[i]) if trials[:, i].any() else None,
        )
        for i, name in enumerate(names)
    }


def interval(row: np.ndarray) -> Interval | None:
    """Low and high, None where there was nothing to resample."""
    return None if np.isnan(row).any() else (float(row[0]), float(row[1]))
