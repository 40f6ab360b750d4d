"""What a study found: per contender and condition, rates with intervals and what they cost.

Plain frozen values that pydantic writes as JSON; `scores` computes them, `tables` lays them out.
Nothing in them is NaN: what is not known is None.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from radarstream.pipelines.evaluation.defences.dynamics import Dynamics
from radarstream.pipelines.evaluation.rates import Rate, Scores
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.pipelines.evaluation.statistics.paired_tests import PairedTest

CellKey = tuple[str, str]  # names of a contender and a condition


class IntervalMethod(StrEnum):
    """How 95 % intervals of rates were computed."""

    WILSON = "Wilson's score interval"
    BOOTSTRAP = "bootstrap over questions"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A rate in [0, 1] with its 95 % interval; None and (0, 1) without trials."""

    hits: int
    trials: int
    value: float | None
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A contender's rate minus the reference's, over the answers that both could be scored on.

    `pairs` are those answers; `excluded` answers are left out because one of the two failed or is
    missing. `only_contender` and `only_reference` count the pairs in which that one alone hits.
    The interval is a bootstrap over questions; `p_holm` is corrected for all differences of the
    same quantity on the scoreboard.
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


@dataclass(frozen=True, slots=True)
class MeanCost:
    """Means per answer of `records.Cost`; `answers` are those that were not errors. Tokens are None
    where those of some answer were not counted.
    """

    answers: int = 0
    calls: float = 0.0
    prompt_tokens: float | None = 0.0
    completion_tokens: float | None = 0.0
    pairs: float = 0.0
    embeddings: float = 0.0
    atomic_seconds: float = 0.0
    relation_seconds: float = 0.0
    selection_seconds: float = 0.0
    generation_seconds: float = 0.0
    seconds: float = 0.0


def mean_cost(costs: Iterable[MeanCost]) -> MeanCost:
    """Mean over all answers of several cells."""
    held = [cost for cost in costs if cost.answers]
    answers = sum(cost.answers for cost in held)
    if not answers:
        return MeanCost()
    means: dict[str, Any] = {
        f.name: _mean([(getattr(cost, f.name), cost.answers) for cost in held])
        for f in fields(MeanCost)
        if f.name != "answers"
    }
    return MeanCost(answers=answers, **means)


def _mean(parts: Sequence[tuple[float | None, int]]) -> float | None:
    """Weighted mean; None where one of the parts is not known."""
    known = [(value, weight) for value, weight in parts if value is not None]
    if len(known) < len(parts):
        return None
    return sum(value * weight for value, weight in known) / sum(weight for _, weight in known)


@dataclass(frozen=True, slots=True)
class Storage:
    """Bytes kept per question between steps; `growth` is the mean increase from step to step."""

    mean: float | None
    most: int | None
    growth: float | None


@dataclass(frozen=True, slots=True)
class Overlap:
    """Mean likeness, in [0, 1], of responses to the closest right answer; an abstention has 0."""

    answers: int
    exact_match: float | None
    token_f1: float | None
    rouge_l: float | None


@dataclass(frozen=True, slots=True)
class ContextScores:
    """Means over answers of `context_quality`, in [0, 1]; None without answers that have them."""

    answers: int = 0
    recall_lex: float | None = None
    relevancy_lex: float | None = None
    answer_relevancy_lex: float | None = None
    faithfulness_lex: float | None = None


@dataclass(frozen=True, slots=True)
class JudgedScores:
    """One cell by the judge; the last three are means in 0..100 over the long answers."""

    errors: int
    acc_judge: Rate
    asr_judge: Rate
    long_answers: int = 0
    accuracy: float | None = None
    relevance: float | None = None
    coherence: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """One contender under one condition.

    `accuracy` and `attack_success` are the rates of `scores` by the study's definition. Errors are
    failed answers: they are counted here and scored nowhere. `on_attacked_steps` is there when a
    schedule attacks some steps only, `dynamics` when there are histories, `context` and `judged`
    when the evidence and a judge's words were given.
    """

    contender: str
    condition: str
    answers: int
    errors: int
    first_error: str | None
    scores: Scores
    accuracy: Estimate
    attack_success: Estimate
    overlap: Overlap
    cost: MeanCost
    storage: Storage
    accuracy_difference: Difference | None = None
    attack_difference: Difference | None = None
    on_attacked_steps: Scores | None = None
    dynamics: Dynamics | None = None
    context: ContextScores | None = None
    judged: JudgedScores | None = None


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """Every cell, contenders in the order of the record and conditions within them.

    `definition` says when an answer is correct and when it is fooled.
    """

    contenders: tuple[str, ...]
    conditions: tuple[str, ...]
    reference: str
    static: bool
    intervals: IntervalMethod
    resamples: int
    cells: tuple[Summary, ...]
    definition: Definition = Definition.WHOLE_WORDS

    def cell(self, contender: str, condition: str) -> Summary:
        """The cell of a contender and a condition. Raises KeyError for unknown names."""
        for cell in self.cells:
            if (cell.contender, cell.condition) == (contender, condition):
                return cell
        raise KeyError((contender, condition))
