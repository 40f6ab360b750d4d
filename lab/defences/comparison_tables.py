"""Tables that compare contenders: rates with intervals and tests, differences to the reference."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from radarstream.lab.defences.scoreboard import Scoreboard, Summary, fewer
from radarstream.lab.study.comparison import Difference
from radarstream.lab.study.rates import Rate
from radarstream.lab.study.scoring import Definition
from radarstream.lab.study.table import (
    NOTHING,
    Table,
    TableCell,
    TableRow,
    p_value,
    percent,
    points,
)
from radarstream.schemas.wording import counted_noun

SIGNIFICANT = "\u2020"
LEVEL = 0.05
INTERVALS = "Clopper and Pearson's at the effective number of answers, a question as one cluster"
TITLE = "Accuracy / attack success"
ABSTENTIONS = "Abstentions are neither and stay in the denominator."
MEANING = {
    Definition.WHOLE_WORDS: "the answer names a right answer / the attacker's target as "
    "whole words",
    Definition.CONTAINED: "the answer contains a right answer / the attacker's target, also within "
    "a word, as published",
}


def by_condition(
    board: Scoreboard,
    key: str,
    title: str,
    show: Callable[[Summary], TableCell],
    notes: Sequence[str],
    *,
    counted: bool = True,
) -> Table:
    """A row per contender, a column per condition.

    `counted` tables say how many answers a cell has that has fewer than others of its column.
    """
    short = [c for c in board.cells if counted and c.answers and fewer(board, c)]

    def shown(cell: Summary) -> TableCell:
        found = show(cell)
        if cell not in short:
            return found
        return replace(found, detail=f"{found.detail}; n={cell.answers}".removeprefix("; "))

    rows = tuple(
        TableRow(name, tuple(map(shown, board.of(name))), name == board.reference)
        for name in board.contenders
    )
    if short:
        notes = (*notes, "n: how many answers, where others of the column have more.")
    return Table(key, title, "defence", board.conditions, rows, tuple(notes))


def rates_table(board: Scoreboard) -> Table:
    """Accuracy / attack success in percent by the study's definition, with intervals and tests."""
    notes = (
        f"Accuracy / attack success in percent: {MEANING[board.definition]}.",
        f"Asked: {board.half.described(board.questions)}.",
        f"In brackets 95 % intervals: {INTERVALS}.",
        *_test_notes(board),
        ABSTENTIONS,
        *_error_notes(board),
    )
    return by_condition(board, "rates", f"{TITLE} ({board.definition.label})", _headline, notes)


def other_rates_table(board: Scoreboard) -> Table:
    """The rates by the definition that is not the study's."""
    (other,) = set(Definition) - {board.definition}
    return _plain_rates(
        board,
        f"rates_{other.replace('-', '_')}",
        f"{TITLE} ({other.label})",
        lambda cell: (cell.scores.accuracy(other), cell.scores.attack_success(other)),
        (f"In percent: {MEANING[other]}.", ABSTENTIONS, *_error_notes(board)),
    )


def exclusive_rates_table(board: Scoreboard) -> Table:
    """The rates of answers that contain the one and not the other, as ProGRank counts."""
    meaning = "In percent: the answer contains the one and not the other, also within a word."
    return _plain_rates(
        board,
        "rates_exclusive",
        f"{TITLE} (exclusive)",
        lambda cell: (cell.scores.exclusive_correct, cell.scores.exclusive_fooled),
        (meaning, ABSTENTIONS, *_error_notes(board)),
    )


def attacked_steps_table(board: Scoreboard) -> Table:
    """The rates over the steps that were attacked, where a schedule leaves others alone."""

    def rates(cell: Summary) -> tuple[Rate, Rate]:
        scores = cell.on_attacked_steps or cell.scores
        return scores.accuracy(board.definition), scores.attack_success(board.definition)

    title = f"{TITLE} on attacked steps ({board.definition.label})"
    note = "Conditions that attack every step, or none, show all their steps."
    return _plain_rates(board, "rates_on_attacked_steps", title, rates, (note,))


def _plain_rates(
    board: Scoreboard,
    key: str,
    title: str,
    rates: Callable[[Summary], tuple[Rate, Rate]],
    notes: Sequence[str],
) -> Table:
    """A table of two rates without intervals and tests."""

    def show(cell: Summary) -> TableCell:
        accuracy, attack = rates(cell)
        return TableCell(f"{percent(accuracy)}/{percent(attack)}", value=accuracy.value)

    return by_condition(board, key, title, show, notes)


def differences_table(board: Scoreboard) -> Table:
    """What each contender gains or loses against the reference on the same answers, in points."""

    def show(cell: Summary) -> TableCell:
        known = _differences(cell)
        if not known:
            return TableCell("reference" if cell.contender == board.reference else NOTHING)
        detail = "; ".join(map(_difference_detail, known))
        unpaired = f"; {known[0].excluded} unpaired" if known[0].excluded else ""
        return TableCell(
            " / ".join(points(d.value, d.pairs) for d in known),
            f"[{detail}]{unpaired}",
            known[0].value,
        )

    notes = [
        f"Accuracy / attack success minus those of {board.reference}, in points, on the answers "
        "that both gave; attack success under attack only.",
        "In brackets 95 % intervals (Tango's, a question as one cluster) and p-values after Holm's "
        "correction over all differences of the same quantity in this table.",
        *_test_notes(board),
        *_error_notes(board),
    ]
    if any(cell.accuracy_difference and cell.accuracy_difference.excluded for cell in board.cells):
        notes.append("Unpaired are answers that failed or are missing on either side.")
    title = f"Difference to {board.reference}"
    return by_condition(board, "differences", title, show, notes, counted=False)


def _headline(cell: Summary) -> TableCell:
    """`69/11` with marks for significant differences; intervals and errors as detail."""
    texts, bounds = [], []
    for estimate, test in (
        (cell.accuracy, cell.accuracy_difference),
        (cell.attack_success, cell.attack_difference),
    ):
        significant = test and test.p_holm is not None and test.p_holm < LEVEL
        texts.append(estimate.percent + (SIGNIFICANT if significant else ""))
        if estimate.trials:
            bounds.append(estimate.bounds)
    failed = f" {cell.errors} failed" if cell.errors else ""
    detail = f"[{' / '.join(bounds)}]" if bounds else ""
    return TableCell("/".join(texts), f"{detail}{failed}".strip(), cell.accuracy.value)


def _differences(cell: Summary) -> list[Difference]:
    found = (cell.accuracy_difference, cell.attack_difference)
    return [difference for difference in found if difference is not None]


def _difference_detail(difference: Difference) -> str:
    if difference.low is None or difference.high is None or difference.p_holm is None:
        return NOTHING
    low, high = (points(bound, difference.pairs) for bound in (difference.low, difference.high))
    return f"{low} to {high}, p {p_value(difference.p_holm)}"


def _test_notes(board: Scoreboard) -> list[str]:
    """Which tests were made, and how many."""
    compared = [d for cell in board.cells for d in _differences(cell) if d.p_value is not None]
    if not compared:
        return []
    names = " and ".join(sorted({str(difference.test) for difference in compared}))
    return [
        f"{SIGNIFICANT} differs from {board.reference} on the same answers: p < {LEVEL} ({names}), "
        "after Holm's correction within accuracy and within attack success, "
        f"{counted_noun(len(compared), 'test')} in all."
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
