"""All attacked answers of a contender taken together, and who can be told apart from the best.

Trade-off is accuracy minus attack success under attack; without attacked conditions it is accuracy.
Intervals and differences are bootstraps over questions, paired where two contenders are compared.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from radarstream.pipelines.evaluation.experiment.outcomes import (
    Answers,
    CellKey,
    Outcome,
    Questions,
    Step,
    Values,
    answers_by_cell,
)
from radarstream.pipelines.evaluation.experiment.records import BENIGN, ExperimentRecord, Row
from radarstream.pipelines.evaluation.experiment.scoreboard import Cell, Estimate, Scoreboard
from radarstream.pipelines.evaluation.experiment.scorers import NOISE
from radarstream.pipelines.evaluation.metrics import wilson_interval

# If all of five questions favour one of two equals, that is chance in 2 of 32 cases: over 5 %.
FEWEST_QUESTIONS = 6
LEAST_SCORED = 0.8  # share of all labelled answers below which a contender is not compared

Interval = tuple[float, float]
Outcomes = Mapping[Step, Outcome]


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
    perturbed: bool = False
    behind_best: Interval | None = None

    @property
    def covered(self) -> bool:
        """Whether it was scored on so much that its rates may stand beside those of others."""
        return self.trade_off is not None and self.scored >= LEAST_SCORED

    @property
    def eligible(self) -> bool:
        """Whether it may be recommended: enough scored answers, and no added noise."""
        return self.covered and not self.perturbed

    @property
    def tied(self) -> bool:
        """Whether the data do not tell it apart from the best."""
        return self.behind_best is not None and self.behind_best[0] <= 0.0

    @property
    def beaten(self) -> bool:
        """Whether it is behind the best, over answers that both gave, by more than chance."""
        return self.behind_best is not None and self.behind_best[0] > 0.0


def covered_cells(scoreboard: Scoreboard, condition: str) -> list[Cell]:
    """A condition's cells with about as many answers as its fullest, so that rates compare."""
    cells = [cell for cell in scoreboard.cells if cell.condition == condition and cell.answers]
    enough = LEAST_SCORED * max((cell.answers for cell in cells), default=0)
    return [cell for cell in cells if cell.answers >= enough]


@dataclass(frozen=True, slots=True)
class Ranking:
    """Contenders in the record's order, and the best of them if any can be scored."""

    contenders: tuple[Pooled, ...]
    best: Pooled | None
    attacked: bool

    def of(self, contender: str) -> Pooled:
        """A contender by its name."""
        return next(pooled for pooled in self.contenders if pooled.contender == contender)


def rank(rows: Iterable[Row], record: ExperimentRecord, *, resamples: int) -> Ranking:
    """Pool the attacked conditions of a run, or all of them where none is attacked."""
    cells = answers_by_cell(rows, record)
    questions = Questions.of(cells.values(), seed=record.seed, resamples=resamples)
    attacked = [c.name for c in record.conditions if c.attack != BENIGN]
    conditions = attacked or [c.name for c in record.conditions]
    names = [contender.name for contender in record.contenders]
    outcomes = {name: _together(name, conditions, cells) for name in names}
    noisy = {c.name for c in record.contenders if c.relations.startswith(NOISE)}
    means = [
        replace(one, perturbed=one.contender in noisy)
        for one in _pooled(outcomes, conditions, cells, questions)
    ]
    eligible = [one for one in means if one.eligible]
    best = max(
        eligible,
        key=lambda one: (one.trade_off or 0.0, one.contender == record.reference),
        default=None,
    )
    if best is not None:
        means = _behind(best, means, outcomes, questions)
    return Ranking(tuple(means), best, bool(attacked))


def _together(
    contender: str, conditions: Sequence[str], cells: Mapping[CellKey, Answers]
) -> dict[Step, Outcome]:
    """Labelled outcomes of several conditions; their steps are numbered apart."""
    return {
        _apart(step, place, len(conditions)): outcome
        for place, condition in enumerate(conditions)
        for step, outcome in cells[contender, condition].outcomes.items()
        if outcome.correct is not None
    }


def _apart(step: Step, place: int, conditions: int) -> Step:
    """A step's number when the steps of several conditions are numbered together."""
    return step[0], step[1] * conditions + place


def _asked(
    contenders: Iterable[str], conditions: Sequence[str], cells: Mapping[CellKey, Answers]
) -> set[Step]:
    """Every labelled answer, failed or not, that some contender was asked for."""
    return {
        _apart(step, place, len(conditions))
        for contender in contenders
        for place, condition in enumerate(conditions)
        for step, row in cells[contender, condition].rows.items()
        if row.labels.answers
    }


def _pooled(
    outcomes: Mapping[str, Outcomes],
    conditions: Sequence[str],
    cells: Mapping[CellKey, Answers],
    questions: Questions,
) -> list[Pooled]:
    right = [{s: float(bool(o.correct)) for s, o in held.items()} for held in outcomes.values()]
    fooled = [
        {s: float(o.attacked) for s, o in held.items() if o.attacked is not None}
        for held in outcomes.values()
    ]
    accuracy = _estimates(right, questions)
    success = _estimates(fooled, questions)
    asked = len(_asked(outcomes, conditions, cells))
    pooled = []
    for name, good, bad in zip(outcomes, accuracy, success, strict=True):
        value = None if good.value is None else good.value - (bad.value or 0.0)
        scored = len(outcomes[name]) / asked if asked else 0.0
        pooled.append(Pooled(name, good, bad, value, scored))
    return pooled


def _estimates(columns: Sequence[Values], questions: Questions) -> list[Estimate]:
    """Rates; where all values are alike Wilson's interval, a question as one trial."""
    found = []
    for values, (low, high) in zip(columns, questions.intervals(columns).tolist(), strict=True):
        hits, trials = round(sum(values.values())), len(values)
        bounds = (low, high)
        if hits in (0, trials):
            asked = len({question for question, _ in values})
            bounds = wilson_interval(asked if hits else 0, asked)
        found.append(Estimate(hits, trials, hits / trials if trials else None, *bounds))
    return found


def _behind(
    best: Pooled,
    means: Sequence[Pooled],
    outcomes: Mapping[str, Outcomes],
    questions: Questions,
) -> list[Pooled]:
    """Everyone with the interval of how far it is behind the best."""
    ahead = outcomes[best.contender]
    leads = [
        {
            step: _value(ahead[step]) - _value(outcome)
            for step, outcome in outcomes[one.contender].items()
            if step in ahead
        }
        for one in means
    ]
    intervals = questions.intervals(leads, span=(-2.0, 2.0)).tolist()
    few = len({question for question, _ in ahead}) < FEWEST_QUESTIONS
    return [
        replace(one, behind_best=(min(low, 0.0) if few else low, high))
        if one is not best and lead
        else one
        for one, lead, (low, high) in zip(means, leads, intervals, strict=True)
    ]


def _value(outcome: Outcome) -> float:
    """Trade-off of one answer."""
    return float(bool(outcome.correct)) - float(bool(outcome.attacked))
