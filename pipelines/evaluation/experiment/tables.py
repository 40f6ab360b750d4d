"""The tables of a scoreboard; see `table` for what a table is and how Markdown shows it."""

from collections.abc import Callable, Sequence
from enum import StrEnum

from pipelines.evaluation.context_quality import ContextScores
from pipelines.evaluation.experiment.dynamics import Dynamics, Recovery
from pipelines.evaluation.experiment.scoreboard import (
    Cell,
    Difference,
    Estimate,
    MeanCost,
    Scoreboard,
)
from pipelines.evaluation.experiment.table import (
    NOTHING,
    Table,
    TableCell,
    TableRow,
    digits,
    number,
    p_value,
    percent,
    points,
    signed,
)
from pipelines.evaluation.metrics import Rate, Scores

SIGNIFICANT = "\u2020"
LEVEL = 0.05


class Definition(StrEnum):
    """What counts as a hit; see `pipelines.evaluation.metrics`."""

    CONTAINS = "contains"
    STRICT = "contains_strict"
    EXCLUSIVE = "exclusive"


MEANING = {
    Definition.CONTAINS: "the response contains a right answer / the attacker's target",
    Definition.STRICT: "the response contains it as whole words",
    Definition.EXCLUSIVE: "the response contains the one and not the other",
}


def tables_of(board: Scoreboard) -> tuple[Table, ...]:
    """Every table that the scoreboard has something for, the most wanted first."""
    found = [rates_table(board), differences_table(board), cost_table(board)]
    if not board.static:
        found += [dynamics_table(board), storage_table(board)]
    found += [rates_table(board, Definition.STRICT), rates_table(board, Definition.EXCLUSIVE)]
    found += [overlap_table(board)]
    if any(cell.context for cell in board.cells):
        found += [context_table(board)]
    if any(cell.on_attacked_steps for cell in board.cells):
        found.insert(1, attacked_steps_table(board))
    return tuple(found)


def rates_table(board: Scoreboard, definition: Definition = Definition.CONTAINS) -> Table:
    """Accuracy / attack success in percent; only the first definition has intervals and tests."""
    headline = definition is Definition.CONTAINS

    def show(cell: Cell) -> TableCell:
        if headline:
            return _headline(cell)
        return _rates(cell.scores, definition)

    notes = [f"Accuracy / attack success in percent: {MEANING[definition]}."]
    if headline:
        notes += [f"In brackets 95 % intervals: {_intervals(board)}.", *_test_notes(board)]
    notes += ["Abstentions are neither and stay in the denominator."]
    return _by_condition(
        board,
        f"rates_{definition}",
        f"Accuracy / attack success ({definition.replace('_', ', ')})",
        show,
        (*notes, *_error_notes(board)),
    )


def attacked_steps_table(board: Scoreboard) -> Table:
    """The rates over the steps that were attacked, where a schedule leaves others alone."""

    def show(cell: Cell) -> TableCell:
        return _rates(cell.on_attacked_steps or cell.scores, Definition.CONTAINS)

    note = "Conditions that attack every step, or none, show all their steps."
    return _by_condition(
        board,
        "rates_on_attacked_steps",
        "Accuracy / attack success on attacked steps",
        show,
        (note,),
    )


def differences_table(board: Scoreboard) -> Table:
    """What each contender gains or loses against the reference on the same answers, in points."""

    def show(cell: Cell) -> TableCell:
        found = (cell.accuracy_difference, cell.attack_difference)
        known = [difference for difference in found if difference is not None]
        if not known:
            return TableCell("reference" if cell.contender == board.reference else NOTHING)
        detail = "; ".join(_difference_detail(difference) for difference in known)
        return TableCell(
            " / ".join(points(d.value, d.pairs) for d in known), f"[{detail}]", known[0].value
        )

    notes = (
        f"Accuracy / attack success minus those of {board.reference}, in points, on the answers "
        "that both gave; attack success under attack only.",
        "In brackets 95 % bootstrap intervals over questions and p-values after Holm's correction "
        "over all differences of the same quantity in this table.",
        *_test_notes(board),
        *_error_notes(board),
    )
    title = f"Difference to {board.reference}"
    return _by_condition(board, "differences", title, show, notes)


def cost_table(board: Scoreboard) -> Table:
    """Mean cost of one answer, over all conditions."""
    columns: tuple[tuple[str, Callable[[MeanCost], float], int], ...] = (
        ("model calls", lambda cost: cost.calls, 1),
        ("tokens in", lambda cost: cost.prompt_tokens, 0),
        ("tokens out", lambda cost: cost.completion_tokens, 0),
        ("relation pairs", lambda cost: cost.pairs, 1),
        ("embeddings", lambda cost: cost.embeddings, 1),
        ("s atomic", lambda cost: cost.atomic_seconds, 2),
        ("s relations", lambda cost: cost.relation_seconds, 3),
        ("s selection", lambda cost: cost.selection_seconds, 4),
        ("s generation", lambda cost: cost.generation_seconds, 2),
        ("s in all", lambda cost: cost.seconds, 2),
    )
    rows = []
    for contender in board.contenders:
        cells = _cells_of(board, contender)
        costs = [cell.cost for cell in cells]
        answers = sum(cost.answers for cost in costs)
        shown = [TableCell(str(answers), value=answers)]
        shown += [TableCell(str(sum(cell.errors for cell in cells)))]
        for _, quantity, decimals in columns:
            total = sum(cost.answers * quantity(cost) for cost in costs)
            mean = total / answers if answers else None
            shown.append(TableCell(number(mean, decimals), value=mean))
        rows.append(TableRow(contender, tuple(shown), contender == board.reference))
    notes = (
        "Means per answer over all conditions. Calls count prompts whether or not a cache knew the "
        "reply; a cached completion counts with the seconds it took when it was made.",
    )
    heads = ("answers", "errors", *(name for name, _, _ in columns))
    return Table("cost", "Cost of an answer", "defence", heads, tuple(rows), notes)


def dynamics_table(board: Scoreboard) -> Table:
    """Stale answers, and how fast a right answer returns."""

    def show(cell: Cell) -> TableCell:
        found = cell.dynamics
        if found is None or not cell.answers:
            return TableCell(NOTHING)
        return TableCell(percent(found.stale), _recoveries(found), found.stale.value)

    notes = (
        "Percent of the steps after a change of truth whose answer was right earlier and is wrong "
        "now; in brackets mean steps until the answer is right again, and of how many: after the "
        "truth changed; after an attack stopped.",
    )
    return _by_condition(board, "dynamics", "Stale answers and recovery", show, notes)


def storage_table(board: Scoreboard) -> Table:
    """Bytes kept per question between steps."""

    def show(cell: Cell) -> TableCell:
        found = cell.storage
        detail = f"[most {found.most}, {signed(found.growth, 1)} a step]" if found.most else ""
        return TableCell(number(found.mean, 0), detail, found.mean)

    notes = ("Mean bytes of the stored state; in brackets the most, and the growth per step.",)
    return _by_condition(board, "storage", "State per question in bytes", show, notes)


def overlap_table(board: Scoreboard) -> Table:
    """Exact match / token F1 / ROUGE-L in percent."""

    def show(cell: Cell) -> TableCell:
        found = cell.overlap
        return _shares(found.exact_match, found.token_f1, found.rouge_l)

    notes = ("Exact match / token F1 / ROUGE-L F1 in percent, to the closest right answer.",)
    return _by_condition(board, "overlap", "Wording of the answers", show, notes)


def context_table(board: Scoreboard) -> Table:
    """What each contender leaves of the context, by word overlap, in percent."""

    def show(cell: Cell) -> TableCell:
        found = cell.context or ContextScores()
        return _shares(
            found.recall_lex,
            found.relevancy_lex,
            found.answer_relevancy_lex,
            found.faithfulness_lex,
        )

    notes = (
        "Contextual recall / contextual relevancy / answer relevancy / faithfulness in percent, by "
        "word overlap of sentences (lexical: not to be compared with judged numbers). The context "
        "is what the defence kept. Without any, faithfulness is 100 and recall 0.",
    )
    return _by_condition(board, "context", "Context left to answer from", show, notes)


def _by_condition(
    board: Scoreboard,
    key: str,
    title: str,
    show: Callable[[Cell], TableCell],
    notes: Sequence[str],
) -> Table:
    rows = tuple(
        TableRow(
            contender,
            tuple(show(cell) for cell in _cells_of(board, contender)),
            contender == board.reference,
        )
        for contender in board.contenders
    )
    return Table(key, title, "defence", board.conditions, rows, tuple(notes))


def _cells_of(board: Scoreboard, contender: str) -> list[Cell]:
    return [cell for cell in board.cells if cell.contender == contender]


def _headline(cell: Cell) -> TableCell:
    """`69/11` with marks for significant differences; intervals and errors as detail."""
    estimates = (cell.accuracy, cell.attack_success)
    tests = (cell.accuracy_difference, cell.attack_difference)
    texts = [
        percent(Rate(estimate.hits, estimate.trials)) + _mark(test)
        for estimate, test in zip(estimates, tests, strict=True)
    ]
    details = [_bounds(estimate) for estimate in estimates if estimate.trials]
    failed = f" {cell.errors} failed" if cell.errors else ""
    detail = f"[{' / '.join(details)}]" if details else ""
    return TableCell("/".join(texts), f"{detail}{failed}".strip(), cell.accuracy.value)


def _shares(*shares: float | None) -> TableCell:
    texts = (NOTHING if share is None else f"{100 * share:.0f}" for share in shares)
    return TableCell("/".join(texts), value=shares[0])


def _rates(scores: Scores, definition: Definition) -> TableCell:
    accuracy: Rate = getattr(scores, f"acc_{definition}")
    attack: Rate = getattr(scores, f"asr_{definition}")
    return TableCell(f"{percent(accuracy)}/{percent(attack)}", value=accuracy.value)


def _mark(difference: Difference | None) -> str:
    found = None if difference is None else difference.p_holm
    return SIGNIFICANT if found is not None and found < LEVEL else ""


def _difference_detail(difference: Difference) -> str:
    if difference.low is None or difference.high is None or difference.p_holm is None:
        return NOTHING
    low, high = (points(bound, difference.pairs) for bound in (difference.low, difference.high))
    return f"{low} to {high}, p {p_value(difference.p_holm)}"


def _recoveries(found: Dynamics) -> str:
    return f"[{_recovery(found.after_change)}; {_recovery(found.after_attack)}]"


def _recovery(found: Recovery) -> str:
    if not found.events:
        return NOTHING
    return f"{number(found.mean_steps, 1)} in {found.recovered} of {found.events}"


def _test_notes(board: Scoreboard) -> list[str]:
    """Which tests were made, and how many."""
    found = [
        difference
        for cell in board.cells
        for difference in (cell.accuracy_difference, cell.attack_difference)
        if difference is not None and difference.p_value is not None
    ]
    if not found:
        return []
    names = " and ".join(sorted({str(difference.test) for difference in found}))
    return [
        f"{SIGNIFICANT} differs from {board.reference} on the same answers: p < {LEVEL} ({names}), "
        f"after Holm's correction within accuracy and within attack success, {len(found)} tests in "
        "all."
    ]


def _error_notes(board: Scoreboard) -> list[str]:
    """How many answers failed; they are no wrong answers."""
    failed = [cell for cell in board.cells if cell.errors]
    if not failed:
        return []
    worst = failed[0].first_error or ""
    return [
        f"{sum(cell.errors for cell in failed)} answers failed; they are left out, and out of "
        f"comparisons with both sides. The first: {worst[:200]}"
    ]


def _intervals(board: Scoreboard) -> str:
    if board.static:
        return str(board.intervals)
    return f"{board.intervals}, {board.resamples} resamples"


def _bounds(estimate: Estimate) -> str:
    decimals = digits(estimate.trials)
    return f"{100 * estimate.low:.{decimals}f}-{100 * estimate.high:.{decimals}f}"
