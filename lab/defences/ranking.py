"""All attacked answers of a contender taken together, and who can be told apart from the best.

Trade-off is accuracy minus attack success under attack; without attacked conditions it is accuracy.
Answers to one question, under any condition, are one cluster; contenders are compared in pairs of
answers to the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.defences.records import DefencesRecord
from radarstream.lab.defences.scoreboard import Estimate, Scoreboard
from radarstream.lab.study.comparison import ANSWER, mean_interval, paired
from radarstream.lab.study.intervals import Interval
from radarstream.lab.study.rates import QUESTION, rate_in, sound

# If all of five questions favour one of two equals, that is chance in 2 of 32 cases: over 5 %.
FEWEST_QUESTIONS = 6
LEAST_SCORED = 0.8  # share of all labelled answers below which a contender is not compared


@dataclass(frozen=True, slots=True)
class Pooled:
    """One contender over all attacked conditions.

    `scored` is the share that it was scored on of all labelled answers that any contender was
    asked for. `behind_best` is the interval of the best contender's trade-off minus this one's,
    over the answers that both gave; None for the best itself and where there are none.
    """

    contender: str
    accuracy: Estimate
    attack_success: Estimate
    trade_off: float | None
    scored: float
    behind_best: Interval | None = None

    @property
    def covered(self) -> bool:
        """Whether it was scored on so much that it may be compared and recommended."""
        return self.trade_off is not None and self.scored >= LEAST_SCORED

    @property
    def tied(self) -> bool:
        """Whether the data do not tell it apart from the best."""
        return self.behind_best is not None and self.behind_best[0] <= 0.0

    @property
    def beaten(self) -> bool:
        """Whether it is behind the best, over answers that both gave, by more than chance."""
        return self.behind_best is not None and self.behind_best[0] > 0.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """Contenders in the record's order, and the best of them if any can be scored."""

    contenders: tuple[Pooled, ...]
    best: Pooled | None
    attacked: bool


def rank(frame: pl.DataFrame, record: DefencesRecord, scoreboard: Scoreboard) -> Ranking:
    """Pool the attacked conditions of a study, or all of them where none is attacked."""
    definition = scoreboard.definition
    attacked = [c.name for c in record.conditions if c.attack != BENIGN]
    conditions = attacked or [c.name for c in record.conditions]
    labelled = frame.filter(
        pl.col("condition").is_in(conditions), pl.col("truth").list.len() > 0
    ).with_columns(
        correct=pl.col(definition.column("correct")), fooled=pl.col(definition.column("fooled"))
    )
    asked = labelled.select(ANSWER).n_unique()
    answers = {
        contender.name: sound(labelled).filter(pl.col("contender") == contender.name)
        for contender in record.contenders
    }
    accuracy, success = (
        [Estimate.of(rate_in(held, name)) for held in answers.values()]
        for name in ("correct", "fooled")
    )
    means = [
        Pooled(
            contender=contender.name,
            accuracy=good,
            attack_success=bad,
            trade_off=None if good.value is None else good.value - (bad.value or 0.0),
            scored=len(answers[contender.name]) / asked if asked else 0.0,
        )
        for contender, good, bad in zip(record.contenders, accuracy, success, strict=True)
    ]
    best = max(
        (one for one in means if one.covered),
        key=lambda one: (one.trade_off or 0.0, one.contender == record.reference),
        default=None,
    )
    if best is not None:
        means = _behind(best, means, answers)
    return Ranking(tuple(means), best, bool(attacked))


def _behind(
    best: Pooled,
    means: Sequence[Pooled],
    answers: Mapping[str, pl.DataFrame],
) -> list[Pooled]:
    """Everyone with the interval of how far it is behind the best."""
    correct, fooled = (pl.col(n).cast(float).fill_null(0.0) for n in ("correct", "fooled"))
    trade_offs = {
        name: held.select(*ANSWER, value=correct - fooled) for name, held in answers.items()
    }
    ahead = trade_offs[best.contender]
    few = ahead[QUESTION].n_unique() < FEWEST_QUESTIONS
    found = []
    for one in means:
        lead = paired(ahead, trade_offs[one.contender])
        if one is not best and len(lead):
            low, high = mean_interval(lead, span=2.0)
            one = replace(one, behind_best=(min(low, 0.0) if few else low, high))
        found.append(one)
    return found
