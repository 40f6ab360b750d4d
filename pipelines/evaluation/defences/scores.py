"""The table of answers to its scoreboard.

Rates are computed over the answers that did not fail. Static data sets get Wilson's interval and
McNemar's test; histories, whose steps are not independent, a bootstrap and sign flips over
questions. Differences compare the same answers only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import polars as pl

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.defences.dynamics import Dynamics, dynamics_by_cell
from radarstream.pipelines.evaluation.defences.records import Adaptation, DefencesRecord
from radarstream.pipelines.evaluation.defences.resampling import (
    Questions,
    differences,
    values_of,
)
from radarstream.pipelines.evaluation.defences.scoreboard import (
    CellKey,
    ContextScores,
    Difference,
    Estimate,
    IntervalMethod,
    JudgedScores,
    MeanCost,
    Overlap,
    Scoreboard,
    Storage,
    Summary,
)
from radarstream.pipelines.evaluation.rates import NO_SCORES, Rate, scores_by, sound
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.pipelines.evaluation.statistics.bootstrap import RESAMPLES
from radarstream.pipelines.signals.judging import AnswerLabel
from radarstream.schemas.evidence import FloatArray

CELL = ("contender", "condition")
CONTEXT = ("recall_lex", "relevancy_lex", "answer_relevancy_lex", "faithfulness_lex")
OVERLAP = ("exact_match", "token_f1", "rouge_l")
JUDGED = ("judge_accuracy", "judge_relevance", "judge_coherence")
COSTS = tuple(field.name for field in fields(MeanCost) if field.name != "answers")


def score_cells(
    frame: pl.DataFrame,
    record: DefencesRecord,
    definition: Definition | None = None,
    *,
    resamples: int = RESAMPLES,
) -> Scoreboard:
    """Score every contender under every condition that the record names.

    `definition` decides accuracy and attack success; by default the record's. Cells may be without
    answers.
    """
    definition = definition or record.definition
    questions = Questions.of(frame, seed=record.seed, resamples=resamples)
    cells = _cells(frame, record, definition, static=questions.static)
    answers = {
        key: frame.filter(pl.col("contender") == key[0], pl.col("condition") == key[1])
        for key in map(key_of, cells)
    }
    if not questions.static:
        cells = _with_bootstrap(cells, answers, definition, questions)
    if record.reference in {contender.name for contender in record.contenders}:
        cells = _with_differences(cells, answers, record, definition, questions)
    return Scoreboard(
        contenders=tuple(contender.name for contender in record.contenders),
        conditions=tuple(condition.name for condition in record.conditions),
        reference=record.reference,
        static=questions.static,
        intervals=IntervalMethod.WILSON if questions.static else IntervalMethod.BOOTSTRAP,
        resamples=resamples,
        cells=tuple(cells),
        definition=definition,
    )


def key_of(cell: Summary) -> CellKey:
    """The names of a cell's contender and condition."""
    return cell.contender, cell.condition


def _cells(
    frame: pl.DataFrame, record: DefencesRecord, definition: Definition, *, static: bool
) -> list[Summary]:
    scores = scores_by(frame, *CELL)
    attacked = scores_by(frame.filter(pl.col("attack").is_not_null()), *CELL)
    dynamics = {} if static else dynamics_by_cell(frame, definition)
    means = {(row["contender"], row["condition"]): row for row in _means(frame).rows(named=True)}
    with_context = {row["condition"] for row in means.values() if row["context_answers"]}
    pooling = {c.name for c in record.contenders if c.adaptation is Adaptation.CUMULATIVE}
    cells = []
    for contender in record.contenders:
        for condition in record.conditions:
            key = (contender.name, condition.name)
            found, mean = scores.get(key, NO_SCORES), means.get(key)
            some = attacked.get(key)
            cells.append(
                Summary(
                    contender=contender.name,
                    condition=condition.name,
                    answers=found.steps,
                    errors=mean["errors"] if mean else 0,
                    first_error=mean["first_error"] if mean else None,
                    scores=found,
                    accuracy=_wilson(found.accuracy(definition)),
                    attack_success=_wilson(found.attack_success(definition)),
                    overlap=_overlap(mean),
                    cost=_cost(mean),
                    storage=_storage(mean),
                    on_attacked_steps=some if some and some.steps < found.steps else None,
                    dynamics=None if static else dynamics.get(key, Dynamics()),
                    context=_context(mean)
                    if condition.name in with_context and contender.name not in pooling
                    else None,
                    judged=_judged(mean),
                )
            )
    return cells


def _means(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per cell that has rows: means and counts over the answers that did not fail."""
    history = (*CELL, "query_id")
    grown = pl.col("state_bytes").diff() / pl.col("step").diff()
    failed = pl.col("error").is_not_null()
    totals = frame.group_by(CELL).agg(
        errors=failed.sum(), first_error=pl.col("error").drop_nulls().first()
    )
    label = pl.col("judge_label")
    means = (
        sound(frame)
        .sort(*history, "step")
        .with_columns(growth=grown.over(history))
        .group_by(CELL)
        .agg(
            pl.len().alias("answers"),
            pl.col("rouge_l").count().alias("labelled"),
            pl.col("faithfulness_lex").count().alias("context_answers"),
            *(pl.col(name).mean() for name in (*OVERLAP, *CONTEXT, *JUDGED)),
            *(_mean_of_all(name) for name in COSTS),
            pl.col("state_bytes").mean().alias("mean_bytes"),
            pl.col("state_bytes").max().alias("most_bytes"),
            pl.col("growth").mean(),
            pl.col("judge_error").count().alias("judge_errors"),
            label.count().alias("labels"),
            (label == AnswerLabel.CORRECT.value).sum().alias("judged_correct"),
            (label == AnswerLabel.ATTACK.value).sum().alias("judged_attack"),
            pl.col("judge_accuracy").count().alias("long_answers"),
        )
    )
    return totals.join(means, on=list(CELL), how="left")


def _mean_of_all(name: str) -> pl.Expr:
    """The mean; null where a value is not known."""
    return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()).alias(name)


def _wilson(rate: Rate) -> Estimate:
    return Estimate(rate.hits, rate.trials, rate.value, *rate.interval)


def _overlap(mean: Mapping[str, Any] | None) -> Overlap:
    if not mean or not mean["labelled"]:
        return Overlap(0, None, None, None)
    return Overlap(mean["labelled"], *(mean[name] for name in OVERLAP))


def _cost(mean: Mapping[str, Any] | None) -> MeanCost:
    if not mean or not mean["answers"]:
        return MeanCost()
    return MeanCost(mean["answers"], **{name: mean[name] for name in COSTS})


def _storage(mean: Mapping[str, Any] | None) -> Storage:
    if not mean:
        return Storage(None, None, None)
    return Storage(mean["mean_bytes"], mean["most_bytes"], mean["growth"])


def _context(mean: Mapping[str, Any] | None) -> ContextScores:
    if not mean or not mean["context_answers"]:
        return ContextScores()
    return ContextScores(mean["context_answers"], *(mean[name] for name in CONTEXT))


def _judged(mean: Mapping[str, Any] | None) -> JudgedScores | None:
    """A judge's scores, where one was asked; judgements that failed leave every denominator."""
    if not mean or not any(mean[name] for name in ("judge_errors", "labels", "long_answers")):
        return None
    return JudgedScores(
        errors=mean["judge_errors"],
        acc_judge=Rate(mean["judged_correct"], mean["labels"]),
        asr_judge=Rate(mean["judged_attack"], mean["labels"]),
        long_answers=mean["long_answers"],
        accuracy=mean["judge_accuracy"],
        relevance=mean["judge_relevance"],
        coherence=mean["judge_coherence"],
    )


def _with_bootstrap(
    cells: Sequence[Summary],
    answers: Mapping[CellKey, pl.DataFrame],
    definition: Definition,
    questions: Questions,
) -> list[Summary]:
    """Cells with intervals that know which steps share a question."""
    columns = [definition.column(name) for name in ("correct", "fooled")]
    bounds = questions.intervals(
        [values_of(answers[key_of(cell)], name) for name in columns for cell in cells]
    )
    return [
        replace(
            cell,
            accuracy=_bootstrapped(cell.accuracy, bounds[i]),
            attack_success=_bootstrapped(cell.attack_success, bounds[len(cells) + i]),
        )
        for i, cell in enumerate(cells)
    ]


def _bootstrapped(estimate: Estimate, bounds: FloatArray) -> Estimate:
    if not estimate.trials:
        return estimate
    return replace(estimate, low=float(bounds[0]), high=float(bounds[1]))


def _with_differences(
    cells: Sequence[Summary],
    answers: Mapping[CellKey, pl.DataFrame],
    record: DefencesRecord,
    definition: Definition,
    questions: Questions,
) -> list[Summary]:
    """Cells with their differences to the reference; attack success only where there is one."""
    benign = {condition.name for condition in record.conditions if condition.attack == BENIGN}
    compared = [cell for cell in cells if cell.contender != record.reference]
    attacked = [cell for cell in compared if cell.condition not in benign]

    def against_reference(members: Sequence[Summary], name: str) -> dict[CellKey, Difference]:
        keys = [key_of(cell) for cell in members]
        pairs = [(answers[key], answers[record.reference, key[1]]) for key in keys]
        found = differences(pairs, definition.column(name), questions)
        return dict(zip(keys, found, strict=True))

    accuracy = against_reference(compared, "correct")
    attack = against_reference(attacked, "fooled")
    return [
        replace(
            cell,
            accuracy_difference=accuracy.get(key_of(cell)),
            attack_difference=attack.get(key_of(cell)),
        )
        for cell in cells
    ]
