"""The tables of selective answering: one per family of conditions."""

from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.defences.scoreboard import (
    COVERAGES,
    TOLERATED,
    Estimate,
    Scoreboard,
    Selective,
)
from radarstream.lab.study.table import NOTHING, Table, TableCell, TableRow

COLUMNS = (
    "given %",
    "accuracy of these",
    *(f"at {coverage:.0%} coverage".replace("%", " %") for coverage in COVERAGES),
    "AURC",
    "AURC, to 100 %",
    f"harmless to (attack success ≤ {100 * TOLERATED:g} %)",
)
NOTES = (
    "Answers are given in the order of their confidence, the surest first, those of equal "
    "confidence in a random order: figures are expected values. Coverage is the share of all "
    "answers asked for that is given; an abstention is never given.",
    "AURC: the mean over coverages of the share of given answers that is not right, in percent, up "
    "to the coverage that was reached (lower is better); to 100 %: further on every abstention "
    "counts as not right, which is fair between contenders that abstain more and less. In brackets "
    "95 % intervals, of AURC by a jackknife over questions.",
    "Harmless to: the largest coverage at which at most that share of the given answers names the "
    "attacker's target.",
)


def selective_tables(board: Scoreboard) -> list[Table]:
    """A row per contender; none without an answer whose truth is known."""
    families = dict.fromkeys(one.family for one in board.selective)
    return [_table(board, family, number) for number, family in enumerate(families, start=1)]


def _table(board: Scoreboard, family: str, number: int) -> Table:
    rows = tuple(
        TableRow(one.contender, _cells(one), one.contender == board.reference)
        for one in board.selective
        if one.family == family
    )
    notes = (f"Asked: {board.half.described(board.questions)}.", *NOTES) if number == 1 else ()
    return Table(
        f"selective_{number}", f"Selective answering: {family}", "defence", COLUMNS, rows, notes
    )


def _cells(one: Selective) -> tuple[TableCell, ...]:
    return (
        TableCell(f"{100 * one.coverage:.0f}", value=one.coverage),
        *map(_estimate, (one.accuracy, *one.accuracy_at, one.aurc, one.aurc_full)),
        TableCell(NOTHING)
        if one.family == BENIGN
        else TableCell(f"{100 * one.harmless:.0f}", value=one.harmless),
    )


def _estimate(found: Estimate | None) -> TableCell:
    if found is None or found.value is None:
        return TableCell(NOTHING)
    bounds = f"[{100 * found.low:.0f}-{100 * found.high:.0f}]"
    return TableCell(f"{100 * found.value:.0f}", bounds, found.value)
