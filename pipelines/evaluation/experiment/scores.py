"""Rows of an experiment to its scoreboard.

Rates are computed over the answers that did not fail. Static data sets get Wilson's interval and
McNemar's test; histories, whose steps are not independent, a bootstrap and sign flips over
questions. Differences compare the same answers only.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import pairwise
from statistics import fmean

from radarstream.pipelines.evaluation.context_quality import context_scores
from radarstream.pipelines.evaluation.experiment.differences import differences
from radarstream.pipelines.evaluation.experiment.dynamics import dynamics_of
from radarstream.pipelines.evaluation.experiment.outcomes import (
    Answers,
    CellKey,
    Quantity,
    Questions,
    answers_by_cell,
    attacked_of,
    correct_of,
)
from radarstream.pipelines.evaluation.experiment.records import (
    BENIGN,
    Adaptation,
    Cost,
    EvidenceRow,
    ExperimentRecord,
    Row,
)
from radarstream.pipelines.evaluation.experiment.scoreboard import (
    Cell,
    Difference,
    Estimate,
    IntervalMethod,
    MeanCost,
    Overlap,
    Scoreboard,
    Storage,
)
from radarstream.pipelines.evaluation.judging import Judgement, judged_scores
from radarstream.pipelines.evaluation.metrics import Response, Scores, score, wilson_interval
from radarstream.pipelines.evaluation.statistics.bootstrap import RESAMPLES
from radarstream.pipelines.evaluation.text_overlap import exact_match, rouge_l_f1, token_f1
from radarstream.schemas.evidence import FloatArray


def score_cells(
    rows: Iterable[Row],
    record: ExperimentRecord,
    evidence: Iterable[EvidenceRow] = (),
    judgements: Iterable[Judgement] = (),
    *,
    resamples: int = RESAMPLES,
) -> Scoreboard:
    """Score every contender under every condition that the record names.

    Of rows about the same answer the last counts, so that a repeated failure may be mended by
    appending. Rows of other contenders or conditions are left out; cells may be without rows.
    `evidence`, where it is given, tells what each contender left of the context, `judgements` what
    a judge says of the answers.
    """
    answers = answers_by_cell(rows, record)
    questions = Questions.of(answers.values(), seed=record.seed, resamples=resamples)
    cells = [
        _cell(contender.name, condition.name, answers[contender.name, condition.name], questions)
        for contender in record.contenders
        for condition in record.conditions
    ]
    if not questions.static:
        cells = _with_bootstrap(cells, answers, questions)
    if record.reference in {contender.name for contender in record.contenders}:
        cells = _with_differences(cells, answers, record, questions)
    cells = _with_context(cells, answers, evidence, pooling=_pooling(record))
    cells = _with_judged(cells, answers, judgements)
    return Scoreboard(
        contenders=tuple(contender.name for contender in record.contenders),
        conditions=tuple(condition.name for condition in record.conditions),
        reference=record.reference,
        static=questions.static,
        intervals=IntervalMethod.WILSON if questions.static else IntervalMethod.BOOTSTRAP,
        resamples=resamples,
        cells=tuple(cells),
    )


def _cell(contender: str, condition: str, answers: Answers, questions: Questions) -> Cell:
    rows = [answers.rows[step] for step in answers.outcomes]
    failed = [row.error for row in answers.rows.values() if row.error]
    scores = score(Response(row.response, row.labels) for row in rows)
    attacked = [row for row in rows if row.labels.attack is not None]
    return Cell(
        contender=contender,
        condition=condition,
        answers=len(rows),
        errors=len(failed),
        first_error=failed[0] if failed else None,
        scores=scores,
        accuracy=_wilson(scores.acc_contains.hits, scores.acc_contains.trials),
        attack_success=_wilson(scores.asr_contains.hits, scores.asr_contains.trials),
        overlap=_overlap(rows),
        cost=_mean_cost(rows),
        storage=_storage(rows),
        on_attacked_steps=_some(attacked, rows),
        dynamics=None if questions.static else dynamics_of(answers.rows.values()),
    )


def _some(part: Sequence[Row], whole: Sequence[Row]) -> Scores | None:
    """Scores of a part that is neither nothing nor everything."""
    if not 0 < len(part) < len(whole):
        return None
    return score(Response(row.response, row.labels) for row in part)


def _wilson(hits: int, trials: int) -> Estimate:
    low, high = wilson_interval(hits, trials)
    return Estimate(hits, trials, hits / trials if trials else None, low, high)


def _mean_cost(rows: Sequence[Row]) -> MeanCost:
    if not rows:
        return MeanCost()
    quantities = [f.name for f in fields(Cost) if not f.name.endswith("_tokens")]
    means = {name: fmean(getattr(row.cost, name) for row in rows) for name in quantities}
    read, written = zip(*(row.cost.tokens for row in rows), strict=True)
    return MeanCost(
        answers=len(rows),
        seconds=fmean(row.cost.seconds for row in rows),
        prompt_tokens=_mean_of_all(read),
        completion_tokens=_mean_of_all(written),
        **means,
    )


def _mean_of_all(counts: Sequence[int | None]) -> float | None:
    """The mean; None where one of them is not known."""
    known = [count for count in counts if count is not None]
    return fmean(known) if len(known) == len(counts) else None


def _storage(rows: Sequence[Row]) -> Storage:
    if not rows:
        return Storage(None, None, None)
    histories: defaultdict[str, list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.step):
        histories[row.query_id].append(row)
    growths = [
        (now.state_bytes - before.state_bytes) / (now.step - before.step)
        for history in histories.values()
        for before, now in pairwise(history)
    ]
    sizes = [row.state_bytes for row in rows]
    return Storage(fmean(sizes), max(sizes), fmean(growths) if growths else None)


def _overlap(rows: Sequence[Row]) -> Overlap:
    labelled = [row for row in rows if row.labels.answers]
    if not labelled:
        return Overlap(0, None, None, None)
    pairs = [(row.response or "", row.labels.answers) for row in labelled]
    return Overlap(
        answers=len(labelled),
        exact_match=fmean(exact_match(*pair) for pair in pairs),
        token_f1=fmean(token_f1(*pair) for pair in pairs),
        rouge_l=fmean(rouge_l_f1(*pair) for pair in pairs),
    )


def _with_bootstrap(
    cells: Sequence[Cell], answers: Mapping[CellKey, Answers], questions: Questions
) -> list[Cell]:
    """Cells with intervals that know which steps share a question."""
    accuracies = [answers[key_of(cell)].values(correct_of) for cell in cells]
    attacks = [answers[key_of(cell)].values(attacked_of) for cell in cells]
    bounds = questions.intervals([*accuracies, *attacks])
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
    cells: Sequence[Cell],
    answers: Mapping[CellKey, Answers],
    record: ExperimentRecord,
    questions: Questions,
) -> list[Cell]:
    """Cells with their differences to the reference; attack success only where there is one."""
    benign = {condition.name for condition in record.conditions if condition.attack == BENIGN}
    compared = [cell for cell in cells if cell.contender != record.reference]
    attacked = [cell for cell in compared if cell.condition not in benign]

    def against_reference(members: Sequence[Cell], quantity: Quantity) -> dict[CellKey, Difference]:
        keys = [key_of(cell) for cell in members]
        pairs = [(answers[key], answers[record.reference, key[1]]) for key in keys]
        return dict(zip(keys, differences(pairs, quantity, questions), strict=True))

    accuracy = against_reference(compared, correct_of)
    attack = against_reference(attacked, attacked_of)
    return [
        replace(
            cell,
            accuracy_difference=accuracy.get(key_of(cell)),
            attack_difference=attack.get(key_of(cell)),
        )
        for cell in cells
    ]


def _pooling(record: ExperimentRecord) -> set[str]:
    """Contenders whose context is more than the snapshot: their ranks are places in a pool."""
    return {c.name for c in record.contenders if c.adaptation is Adaptation.CUMULATIVE}


def _with_context(
    cells: Sequence[Cell],
    answers: Mapping[CellKey, Answers],
    evidence: Iterable[EvidenceRow],
    *,
    pooling: Collection[str],
) -> list[Cell]:
    """Cells with context scores, under the conditions whose evidence is known; evidence rows do
    not tell what those that are `pooling` saw.
    """
    seen: defaultdict[str, list[EvidenceRow]] = defaultdict(list)
    for found in evidence:
        seen[found.condition].append(found)
    return [
        replace(cell, context=context_scores(answers[key_of(cell)].rows.values(), known))
        if (known := seen.get(cell.condition)) and cell.contender not in pooling
        else cell
        for cell in cells
    ]


def _with_judged(
    cells: Sequence[Cell], answers: Mapping[CellKey, Answers], judgements: Iterable[Judgement]
) -> list[Cell]:
    """Cells with a judge's scores, where it was asked; of answers that are not scored, none."""
    said: defaultdict[CellKey, list[Judgement]] = defaultdict(list)
    for judgement in judgements:
        key = (judgement.contender, judgement.condition)
        if key in answers and (judgement.query_id, judgement.step) in answers[key].outcomes:
            said[key].append(judgement)
    return [
        replace(cell, judged=judged_scores(said[key_of(cell)])) if key_of(cell) in said else cell
        for cell in cells
    ]


def key_of(cell: Cell) -> CellKey:
    """The names of a cell's contender and condition."""
    return cell.contender, cell.condition
