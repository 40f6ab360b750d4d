"""A study's results: every reranker under every condition, and the answers behind it."""

from dataclasses import dataclass
from statistics import fmean
from typing import Final

import polars as pl

from radarstream.lab.attacks.protocol import BENIGN
from radarstream.lab.retrieval.records import RetrievalRecord
from radarstream.lab.retrieval.rerankers import REFERENCE
from radarstream.lab.retrieval.rows import ALONE, PoolRow
from radarstream.lab.retrieval.scoring import KEPT, MEASURES, text_frame
from radarstream.lab.study.comparison import Cell, Difference, compared
from radarstream.lab.study.results import Cells, Result, grouped, results_by, with_texts
from radarstream.lab.study.row_files import RowStore
from radarstream.lab.study.rows import COST

ATTACKS: Final = "all attacks"
ANSWERED: Final = ("fooled", "correct")


@dataclass(frozen=True, slots=True)
class PoolCounts:
    """What a condition is: pools, planted texts in a pool on average, and questions that cannot be
    attacked, with the reason of the first.
    """

    condition: str
    pools: int
    planted: float | None
    unattackable: int
    why: str


@dataclass(frozen=True, slots=True)
class Results:
    """All cells, in the order of the record's members; conditions of cells are those of `groups`.

    `answers` are those of each defence, by the reranker that it stands behind.
    """

    k: int
    conditions: tuple[PoolCounts, ...]
    groups: tuple[str, ...]
    rerankers: tuple[str, ...]
    cells: tuple[Result, ...]
    answers: dict[str, tuple[Result, ...]]

    @property
    def whole(self) -> str | None:
        """All attacks together, or the only one; None without an attack."""
        return next((group for group in reversed(self.groups) if group != BENIGN), None)

    def under(self, group: str | None) -> list[Result]:
        """The rerankers in a group that saw a pool."""
        return [cell for cell in self.cells if cell.condition == group and cell.rows]


def scored(record: RetrievalRecord, store: RowStore, frame: pl.DataFrame) -> Results:
    """Score everything; what has no row is left out."""
    attacks = [name for name in record.conditions if name != BENIGN]
    groups = {name: [name] for name in record.conditions}
    if len(attacks) > 1:
        groups[ATTACKS] = attacks
    names = [spec.name for spec in record.rerankers]
    alone = grouped(frame.filter(pl.col("before") == ALONE), groups)
    texts = grouped(text_frame(record, store), groups)
    keys = [(name, group) for group in groups for name in names if (name, group) in alone]
    hits, kept = (
        against_none(cells, keys, columns, record.seed)
        for cells, columns in ((alone, ("poison_hit",)), (texts, KEPT))
    )
    found = {key: hits.get(key, {}) | kept.get(key, {}) for key in keys}
    measured = ("kept", *MEASURES, *COST)
    cells = with_texts(results_by(alone, keys, ("poison_hit",), measured, found), texts, KEPT)
    answers = {}
    for before in record.defences:
        mine = grouped(frame.filter(pl.col("before") == before), groups)
        there = [key for key in keys if key in mine]
        moved = against_none(mine, there, ANSWERED, record.seed)
        answers[before] = results_by(mine, there, ANSWERED, (), moved)
    counts = tuple(counts_of(name, store) for name in record.conditions)
    return Results(record.k, counts, tuple(groups), tuple(names), cells, answers)


def against_none(
    cells: Cells, keys: list[Cell], columns: tuple[str, ...], seed: int
) -> dict[Cell, dict[str, Difference]]:
    """The differences to the undefended order. Holm's correction takes all conditions of a column
    as one family, and all attacks together as another, since these are the same answers again.
    """
    found: dict[Cell, dict[str, Difference]] = {}
    for whole in (False, True):
        family = [key for key in keys if (key[1] == ATTACKS) is whole]
        found |= compared(cells, family, columns, REFERENCE, seed=seed)
    return found


def counts_of(condition: str, store: RowStore) -> PoolCounts:
    """What the pools of a condition hold."""
    mine = [pool for pool in store.of(PoolRow).values() if pool.condition == condition]
    planted = [len(pool.planted) for pool in mine if pool.candidates]
    missing = [pool.detail for pool in mine if not pool.candidates]
    mean, why = fmean(planted) if planted else None, next(iter(missing), "")
    return PoolCounts(condition, len(planted), mean, len(missing), why)
