"""All attacked answers of a contender taken together, and who can be told apart from the best.

Trade-off is accuracy minus attack success under attack; without attacked conditions it is accuracy.
Answers to one question, under any condition, are one cluster; contenders are compared in pairs of
answers to the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.defences.records import DefencesRecord
from radarstream.lab.study.comparison import ANSWER, mean_interval, paired
from radarstream.lab.study.rates import QUESTION, Interval, Rate, rate_in, sound

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
    accuracy: Rate
    attack_success: Rate
    scored: float
    behind_best: Interval | None = None

    @property
    def trade_off(self) -> float:
        """Accuracy minus attack success."""
        return (self.accuracy.value or 0.0) - (self.attack_success.value or 0.0)

    @property
    def covered(self) -> bool:
        """Whether it was scored on so much that it may be compared and recommended."""
        return bool(self.accuracy.trials) and self.scored >= LEAST_SCORED

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


def rank(frame: pl.DataFrame, record: DefencesRecord) -> Ranking:
    """Pool the attacked conditions of a study, or all of them where none is attacked."""
    attacked = [c.name for c in record.conditions if c.attack != BENIGN]
    conditions = attacked or [c.name for c in record.conditions]
    labelled = frame.filter(pl.col("condition").is_in(conditions), pl.col("truth").list.len() > 0)
    asked = max(1, labelled.select(ANSWER).n_unique())
    answers = {
        contender.name: sound(labelled).filter(pl.col("contender") == contender.name)
        for contender in record.contenders
    }
    pooled = [
        Pooled(name, rate_in(held, "correct"), rate_in(held, "fooled"), len(held) / asked)
        for name, held in answers.items()
    ]
    best = max(
        (one for one in pooled if one.covered),
        key=lambda one: (one.trade_off, one.contender == record.reference),
        default=None,
    )
    if best is not None:
        pooled = [behind(best, one, answers) for one in pooled]
    return Ranking(tuple(pooled), best, bool(attacked))


def behind(best: Pooled, one: Pooled, answers: Mapping[str, pl.DataFrame]) -> Pooled:
    """A contender with the interval of how far it is behind the best."""
    correct, fooled = (pl.col(n).cast(float).fill_null(0.0) for n in ("correct", "fooled"))
    ahead, mine = (
        answers[name].select(*ANSWER, value=correct - fooled)
        for name in (best.contender, one.contender)
    )
    lead = paired(ahead, mine)
    if one is best or not len(lead):
        return one
    low, high = mean_interval(lead, span=2.0)
    few = ahead[QUESTION].n_unique() < FEWEST_QUESTIONS
    return replace(one, behind_best=(min(low, 0.0) if few else low, high))
