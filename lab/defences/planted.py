"""What becomes of answers as more and more pages are planted: curves, and a table for each."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from radarstream.lab.attacks.escalation import escalations
from radarstream.lab.attacks.protocol import BENIGN, RANDOM, Condition
from radarstream.lab.attacks.timing import Timing
from radarstream.lab.defences.dynamics import CELL
from radarstream.lab.defences.scoreboard import (
    Estimate,
    Planted,
    Point,
    Scoreboard,
)
from radarstream.lab.study.rates import NO_SCORES, Scores, scores_by, sound
from radarstream.lab.study.scoring import DEFENDED, Definition
from radarstream.lab.study.table import NOTHING, Table, TableCell, TableRow, number

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
        return _point(planted, scores.get(cell, NO_SCORES), pages.get(cell), definition)

    return {name: tuple(point(name, n) for n in sorted(conditions)) for name in contenders}


def _point(planted: int, found: Scores, pages: float | None, definition: Definition) -> Point:
    rates = (found.accuracy(definition), found.attack_success(definition), found.abstained)
    right, fooled, silent = map(Estimate.of, rates)
    return Point(planted, right, fooled, silent, pages)


def replay_curves(frame: pl.DataFrame) -> dict[str, tuple[Point, ...]]:
    """The points of each contender of a replay that has labels: its steps by the number of sites
    with planted pages. Unlike those of a study they are about different steps.
    """
    labelled = (pl.col("truth").list.len() > 0) | pl.col("target").is_not_null()
    held = sound(frame).filter(labelled)
    cells = ["contender", "poisoned_sites"]
    pages = {
        (name, planted): mean
        for name, planted, mean in held.group_by(cells).agg(pl.col("documents").mean()).rows()
    }
    curves: dict[str, tuple[Point, ...]] = {}
    for cell, found in sorted(scores_by(held, *cells).items(), key=lambda item: item[0][1]):
        name, planted = cell
        point = _point(planted, found, pages[cell], Definition.WHOLE_WORDS)
        curves[name] = (*curves.get(name, ()), point)
    return {name: curves[name] for name in held["contender"].unique(maintain_order=True)}


def planted_tables(board: Scoreboard) -> Iterator[Table]:
    """One table per escalation."""
    for place, found in enumerate(board.planted, start=1):
        note = f"Asked: {board.half.described(board.questions)}."
        yield curves_table(
            f"{KEY}_{place}", title_of(found), found.curves, note, reference=board.reference
        )


def replay_table(curves: Mapping[str, Sequence[Point]]) -> Table:
    """The table of the points of a replay."""
    used = Definition.WHOLE_WORDS
    return curves_table(
        "replay", f"Scores by {used.label}", curves, used.meaning, reference=DEFENDED
    )


def curves_table(
    key: str, title: str, curves: Mapping[str, Sequence[Point]], *notes: str, reference: str
) -> Table:
    """A row per contender, a column per number of planted pages."""
    rows = tuple(
        TableRow(contender, tuple(map(_cell, points)), contender == reference)
        for contender, points in curves.items()
    )
    heads = (str(point.planted) for point in next(iter(curves.values()), ()))
    legend = (
        "Accuracy / attack success / silence in percent, by the number of planted pages; 0 is "
        "without an attack. In brackets 95 % intervals, and how many pages were read for an "
        "answer, in the mean."
    )
    return Table(key, title, "defence", tuple(heads), rows, (legend, *notes))


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
    pages = "" if point.pages is None else f"; {number(point.pages, 1)} pages"
    told = f"[{' / '.join(rate.bounds for rate in rates)}{pages}]"
    return TableCell("/".join(rate.percent for rate in rates), told, point.attack_success.value)
