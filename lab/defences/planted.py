"""What becomes of answers as more and more pages are planted: curves, and a table for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from radarstream.lab.attacks.conditions import escalations
from radarstream.lab.attacks.protocol import BENIGN, RANDOM, Condition
from radarstream.lab.defences.dynamics import CELL
from radarstream.lab.study.frame import words_of
from radarstream.lab.study.rates import Rate, rates_by, sound
from radarstream.lab.study.results import span
from radarstream.lab.study.scoring import DEFENDED
from radarstream.lab.study.table import NOTHING, Table, TableCell, TableRow, number, percent

KEY: Final = "planted"
LEGEND: Final = words_of("defences")["notes"][KEY]
STEP: Final = ["query_id", "step"]


@dataclass(frozen=True, slots=True)
class Point:
    """One contender's answers where so many pages are planted; 0 is without an attack. `pages` is
    how many documents were read for an answer, in the mean; None without an answer.
    """

    planted: int
    accuracy: Rate = Rate(0, 0)
    attack_success: Rate = Rate(0, 0)
    silence: Rate = Rate(0, 0)
    pages: float | None = None


Curves = Mapping[str, Sequence[Point]]  # by contender


@dataclass(frozen=True, slots=True)
class Planted:
    """Every contender's points along an escalation, which is in words in the title."""

    title: str
    curves: dict[str, tuple[Point, ...]]


def planted_curves(
    frame: pl.DataFrame, contenders: Sequence[str], conditions: Sequence[Condition]
) -> tuple[Planted, ...]:
    """The curves along the escalations among the conditions; `frame` is the table of answers. All
    points of a curve are about the same questions and steps. Without a clean condition it starts at
    its first number.
    """
    clean = [(0, condition) for condition in conditions if condition.attack == BENIGN][:1]
    found = []
    for one in escalations(conditions):
        where = "ranks drawn by lot" if one.place == RANDOM else "top ranks"
        site = "all on one site" if one.one_site else "each on a site of its own"
        when = f", {one.schedule}" if one.schedule else ""
        title = f"Planted pages ({one.attack}) at {where}, {site}{when}"
        pages = {planted: condition.name for planted, condition in (*clean, *one.conditions)}
        found.append(Planted(title, _curves(frame, contenders, pages)))
    return tuple(found)


def _curves(
    frame: pl.DataFrame, contenders: Sequence[str], conditions: Mapping[int, str]
) -> dict[str, tuple[Point, ...]]:
    """The points of each contender under these conditions, by their number of pages."""
    held = sound(frame).filter(pl.col("condition").is_in(list(conditions.values())))
    attacked = held.filter(pl.col("attack").is_not_null())
    shared = attacked.group_by(STEP).agg(there=pl.col("condition").n_unique())
    everywhere = shared.filter(there=attacked["condition"].n_unique())
    points = _points(held.join(everywhere, on=STEP, how="semi"), *CELL)
    numbers = sorted(conditions)
    return {
        name: tuple(Point(n, *points.get((name, conditions[n]), ())) for n in numbers)
        for name in contenders
    }


def _points(
    held: pl.DataFrame, *by: str
) -> dict[tuple[object, ...], tuple[Rate, Rate, Rate, float | None]]:
    """The fields of a point but its number, for each group of sound answers."""
    means = held.group_by(by).agg(pl.col("documents").mean())
    pages = {tuple(row[:-1]): row[-1] for row in means.rows()}
    found = rates_by(held, by, ("correct", "fooled", "abstained"))
    return {
        key: (rates["correct"], rates["fooled"], rates["abstained"], pages[key])
        for key, rates in found.items()
    }


def replay_curves(frame: pl.DataFrame) -> dict[str, tuple[Point, ...]]:
    """The points of each contender of a replay that has labels: its steps by the number of sites
    with planted pages. Unlike those of a study they are about different steps.
    """
    labelled = (pl.col("truth").list.len() > 0) | pl.col("target").is_not_null()
    held = sound(frame).filter(labelled)
    found = sorted(_points(held, "contender", "poisoned_sites").items(), key=lambda one: one[0][1])  # type: ignore[arg-type, return-value]
    return {
        name: tuple(Point(planted, *values) for (who, planted), values in found if who == name)  # type: ignore[arg-type]
        for name in held["contender"].unique(maintain_order=True)
    }


def replay_table(curves: Curves) -> Table:
    """The table of the points of a replay."""
    return curves_table("replay", "Scores", curves, DEFENDED)


def curves_table(key: str, title: str, curves: Curves, reference: str, *notes: str) -> Table:
    """A row per contender, a column per number of planted pages."""
    rows = tuple(
        TableRow(contender, tuple(map(_cell, points)), contender == reference)
        for contender, points in curves.items()
    )
    heads = tuple(str(point.planted) for point in next(iter(curves.values()), ()))
    return Table(key, title, "defence", heads, rows, (LEGEND, *notes))


def _cell(point: Point) -> TableCell:
    rates = (point.accuracy, point.attack_success, point.silence)
    if not point.silence.trials:
        return TableCell(NOTHING)
    pages = "" if point.pages is None else f" {number(point.pages, 1)} pages"
    detail = f"[{' / '.join(map(span, rates))}]{pages}"
    return TableCell("/".join(map(percent, rates)), detail, point.attack_success.value)
