"""What becomes of answers as more and more pages are planted: curves, and a table for each."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from radarstream.pipelines.evaluation.attacks.escalation import escalations
from radarstream.pipelines.evaluation.attacks.protocol import BENIGN, RANDOM, Condition
from radarstream.pipelines.evaluation.attacks.timing import Timing
from radarstream.pipelines.evaluation.defences.dynamics import CELL
from radarstream.pipelines.evaluation.defences.scoreboard import (
    Estimate,
    Planted,
    Point,
    Scoreboard,
)
from radarstream.pipelines.evaluation.rates import NO_SCORES, scores_by, sound
from radarstream.pipelines.evaluation.scoring import Definition
from radarstream.pipelines.evaluation.table import NOTHING, Table, TableCell, TableRow, number

KEY = "planted"
STEP = ["query_id", "step"]


def planted_curves(
    frame: pl.DataFrame,
    contenders: Sequence[str],
    conditions: Sequence[Condition],
    definition: Definition,
) -> tuple[Planted, ...]:
    """The curves along the escalations among the conditions; `frame` is the table of answers.

    All points of a curve are about the same questions and steps. Without a clean condition it
    starts at its first number.
    """
    clean = [(0, condition) for condition in conditions if condition.attack == BENIGN][:1]
    return tuple(
        Planted(
            found.attack,
            found.place,
            found.schedule,
            found.one_site,
            _curves(frame, contenders, dict([*clean, *found.conditions]), definition),
        )
        for found in escalations(conditions)
    )


def _curves(
    frame: pl.DataFrame,
    contenders: Sequence[str],
    conditions: Mapping[int, Condition],
    definition: Definition,
) -> dict[str, tuple[Point, ...]]:
    """The points of each contender under these conditions, by their number of pages."""
    names = [condition.name for condition in conditions.values()]
    held = sound(frame).filter(pl.col("condition").is_in(names))
    attacked = held.filter(pl.col("attack").is_not_null())
    conditions_there = attacked["condition"].n_unique()
    shared = attacked.group_by(STEP).agg(there=pl.col("condition").n_unique())
    held = held.join(shared.filter(there=conditions_there), on=STEP, how="semi")
    scores = scores_by(held, *CELL)
    means = held.group_by(CELL).agg(pl.col("documents").mean())
    pages = {(name, condition): mean for name, condition, mean in means.rows()}

    def point(contender: str, planted: int) -> Point:
        cell = contender, conditions[planted].name
        found = scores.get(cell, NO_SCORES)
        rates = (found.accuracy(definition), found.attack_success(definition), found.abstained)
        right, fooled, silent = map(Estimate.of, rates)
        return Point(planted, right, fooled, silent, pages.get(cell))

    return {name: tuple(point(name, n) for n in sorted(conditions)) for name in contenders}


def planted_tables(board: Scoreboard) -> Iterator[Table]:
    """One table per escalation: a row per contender, a column per number of planted pages."""
    for place, found in enumerate(board.planted, start=1):
        rows = tuple(
            TableRow(contender, tuple(map(_cell, points)), contender == board.reference)
            for contender, points in found.curves.items()
        )
        heads = (str(point.planted) for point in next(iter(found.curves.values()), ()))
        notes = (
            "Accuracy / attack success / silence in percent, by the number of planted pages; 0 is "
            "without an attack. In brackets 95 % intervals, and how many pages were read for an "
            "answer, in the mean.",
            f"Asked: {board.half.described(board.questions)}.",
        )
        yield Table(f"{KEY}_{place}", title_of(found), "defence", tuple(heads), rows, notes)


def title_of(found: Planted) -> str:
    """What is planted, where and when."""
    where = "ranks drawn by lot" if found.place == RANDOM else "top ranks"
    site = "all on one site" if found.one_site else "each on a site of its own"
    when = f", {Timing.parse(found.schedule).in_words}" if found.schedule else ""
    return f"Planted pages ({found.attack}) at {where}, {site}{when}"


def _cell(point: Point) -> TableCell:
    rates = (point.accuracy, point.attack_success, point.silence)
    if not point.silence.trials:
        return TableCell(NOTHING)
    told = f"[{' / '.join(rate.bounds for rate in rates)}; {number(point.pages, 1)} pages]"
    return TableCell("/".join(rate.percent for rate in rates), told, point.attack_success.value)
