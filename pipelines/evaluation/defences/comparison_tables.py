"""Tables that compare contenders: rates with intervals and tests, differences to the reference."""

from radarstream.pipelines.evaluation.defences.scoreboard import (
    Difference,
    Estimate,
    Scoreboard,
    Summary,
)
from radarstream.pipelines.evaluation.defences.table_layout import by_condition
from radarstream.pipelines.evaluation.rates import Rate
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.pipelines.evaluation.table import (
    NOTHING,
    Table,
    TableCell,
    digits,
    p_value,
    percent,
    points,
)
from radarstream.pipelines.evaluation.wording import counted_noun

SIGNIFICANT = "\u2020"
LEVEL = 0.05


ABSTENTIONS = "Abstentions are neither and stay in the denominator."
MEANING = {
    Definition.WHOLE_WORDS: "the answer names a right answer / the attacker's target as "
    "whole words",
    Definition.CONTAINED: "the answer contains a right answer / the attacker's target, also within "
    "a word, as published",
}


def rates_table(board: Scoreboard) -> Table:
    """Accuracy / attack success in percent by the study's definition, with intervals and tests."""
    notes = (
        f"Accuracy / attack success in percent: {MEANING[board.definition]}.",
        f"In brackets 95 % intervals: {_intervals(board)}.",
        *_test_notes(board),
        ABSTENTIONS,
        *_error_notes(board),
    )
    title = f"Accuracy / attack success ({board.definition.label})"
    return by_condition(board, "rates", title, _headline, notes)


def other_rates_table(board: Scoreboard) -> Table:
    """The rates by the definition that is not the study's."""
    (other,) = set(Definition) - {board.definition}

    def show(cell: Summary) -> TableCell:
        return _rates(cell.scores.accuracy(other), cell.scores.attack_success(other))

    return by_condition(
        board,
        f"rates_{other.replace('-', '_')}",
        f"Accuracy / attack success ({other.label})",
        show,
        (f"In percent: {MEANING[other]}.", ABSTENTIONS, *_error_notes(board)),
    )


def exclusive_rates_table(board: Scoreboard) -> Table:
    """The rates of answers that contain the one and not the other, as ProGRank counts."""

    def show(cell: Summary) -> TableCell:
        return _rates(cell.scores.exclusive_correct, cell.scores.exclusive_fooled)

    return by_condition(
        board,
        "rates_exclusive",
        "Accuracy / attack success (exclusive)",
        show,
        (
            "In percent: the answer contains the one and not the other, also within a word.",
            ABSTENTIONS,
            *_error_notes(board),
        ),
    )


def attacked_steps_table(board: Scoreboard) -> Table:
    """The rates over the steps that were attacked, where a schedule leaves others alone."""

    def show(cell: Summary) -> TableCell:
        scores = cell.on_attacked_steps or cell.scores
        definition = board.definition
        return _rates(scores.accuracy(definition), scores.attack_success(definition))

    note = "Conditions that attack every step, or none, show all their steps."
    return by_condition(
        board,
        "rates_on_attacked_steps",
        f"Accuracy / attack success on attacked steps ({board.definition.label})",
        show,
        (note,),
    )


def differences_table(board: Scoreboard) -> Table:
    """What each contender gains or loses against the reference on the same answers, in points."""

    def show(cell: Summary) -> TableCell:
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


def _headline(cell: Summary) -> TableCell:
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


def _rates(accuracy: Rate, attack: Rate) -> TableCell:
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
