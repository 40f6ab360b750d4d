"""Tables that compare contenders: rates with intervals and tests, differences to the reference."""

from enum import StrEnum

from radarstream.pipelines.evaluation.experiment.scoreboard import (
    Cell,
    Difference,
    Estimate,
    Scoreboard,
)
from radarstream.pipelines.evaluation.experiment.table import (
    NOTHING,
    Table,
    TableCell,
    digits,
    p_value,
    percent,
    points,
)
from radarstream.pipelines.evaluation.experiment.table_layout import by_condition
from radarstream.pipelines.evaluation.metrics import Rate, Scores
from radarstream.pipelines.evaluation.wording import counted_noun

SIGNIFICANT = "\u2020"
LEVEL = 0.05


class Definition(StrEnum):
    """What counts as a hit; see `radarstream.pipelines.evaluation.metrics`."""

    CONTAINS = "contains"
    STRICT = "contains_strict"
    EXCLUSIVE = "exclusive"


NAMES = {
    Definition.CONTAINS: "contains",
    Definition.STRICT: "whole words",
    Definition.EXCLUSIVE: "exclusive",
}
MEANING = {
    Definition.CONTAINS: "the response contains a right answer / the attacker's target, also "
    "within a word, as published",
    Definition.STRICT: "the response contains it as whole words",
    Definition.EXCLUSIVE: "the response contains the one and not the other",
}


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
    return by_condition(
        board,
        f"rates_{definition}",
        f"Accuracy / attack success ({NAMES[definition]})",
        show,
        (*notes, *_error_notes(board)),
    )


def attacked_steps_table(board: Scoreboard) -> Table:
    """The rates over the steps that were attacked, where a schedule leaves others alone."""

    def show(cell: Cell) -> TableCell:
        return _rates(cell.on_attacked_steps or cell.scores, Definition.CONTAINS)

    note = "Conditions that attack every step, or none, show all their steps."
    return by_condition(
        board,
        "rates_on_attacked_steps",
        f"Accuracy / attack success on attacked steps ({NAMES[Definition.CONTAINS]})",
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
        unpaired = f"; {known[0].excluded} unpaired" if known[0].excluded else ""
        return TableCell(
            " / ".join(points(d.value, d.pairs) for d in known),
            f"[{detail}]{unpaired}",
            known[0].value,
        )

    notes: tuple[str, ...] = (
        f"Accuracy / attack success minus those of {board.reference}, in points, on the answers "
        "that both gave; attack success under attack only.",
        "In brackets 95 % bootstrap intervals over questions and p-values after Holm's correction "
        "over all differences of the same quantity in this table.",
        *_test_notes(board),
        *_error_notes(board),
    )
    if any(cell.accuracy_difference and cell.accuracy_difference.excluded for cell in board.cells):
        notes += ("Unpaired are answers that failed or are missing on either side.",)
    title = f"Difference to {board.reference}"
    return by_condition(board, "differences", title, show, notes, counted=False)


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
        "after Holm's correction within accuracy and within attack success, "
        f"{counted_noun(len(found), 'test')} in all."
    ]


def _error_notes(board: Scoreboard) -> list[str]:
    """How many answers failed; they are no wrong answers."""
    failed = [cell for cell in board.cells if cell.errors]
    if not failed:
        return []
    worst = failed[0].first_error or ""
    count = sum(cell.errors for cell in failed)
    left_out = "it is" if count == 1 else "they are"
    return [
        f"{counted_noun(count, 'answer')} failed; {left_out} left out, and out of comparisons with "
        f"both sides. The first: {worst[:200]}"
    ]


def _intervals(board: Scoreboard) -> str:
    if board.static:
        return str(board.intervals)
    return f"{board.intervals}, {board.resamples} resamples"


def _bounds(estimate: Estimate) -> str:
    decimals = digits(estimate.trials)
    return f"{100 * estimate.low:.{decimals}f}-{100 * estimate.high:.{decimals}f}"
