"""The tables of a study of rerankers."""

from collections.abc import Callable, Iterable
from typing import Final

from radarstream.lab.retrieval.scoring import RetrievalResults
from radarstream.lab.study.frame import words_of
from radarstream.lab.study.results import (
    ATTACKS,
    Result,
    cost_table,
    grid,
    marked,
    mean_cell,
    rate_cell,
    rates_cell,
)
from radarstream.lab.study.table import NOTHING, Table, TableCell, TableRow, number, percent

NOTES: Final = words_of("retrieval")["notes"]
FOOLED: Final = rates_cell("fooled", "correct")
BEYOND: Final = "What the order says beyond similarity"
Show = Callable[[Result], TableCell]


def tables_of(results: RetrievalResults) -> tuple[Table, ...]:
    """Every table that the results can fill, the most important first."""
    cells = results.cells
    attacked = [cell for cell in cells if cell.rates["poison_hit"].trials]

    def by_condition(
        key: str, title: str, cells: Iterable[Result], show: Show, notes: str = ""
    ) -> Table:
        table = Table(key, title, "condition", results.methods, (), NOTES[notes or key])
        return grid(table, cells, show, {ATTACKS})

    tables = [
        conditions_table(results),
        by_condition("poison", "Planted texts kept", attacked, poison_cell),
        by_condition("clean", "Clean passages kept", cells, lambda c: rate_cell(c, "clean_kept")),
        by_condition("order", "nDCG of what is kept", cells, lambda c: mean_cell(c, "ndcg")),
        by_condition("separation", BEYOND, cells, separation_cell),
        *(
            by_condition(f"before_{name}", f"Answers of {name}", answers, FOOLED, "answers")
            for name, answers in results.answers.items()
        ),
        cost_table(results.alone, "Cost of one pool", "reranker", results, COUNTED, NOTES["cost"]),
    ]
    return tuple(tables)


def conditions_table(results: RetrievalResults) -> Table:
    """What the pools of every condition hold."""
    rows = tuple(
        TableRow(
            one.condition,
            (
                TableCell(str(one.pools)),
                TableCell(number(one.planted, 1)),
                TableCell(str(one.unattackable) if one.unattackable else NOTHING, one.why),
            ),
        )
        for one in results.pools
    )
    columns = ("pools", "planted texts", "cannot be attacked")
    return Table("conditions", "Pools", "condition", columns, rows, NOTES["conditions"])


def poison_cell(cell: Result) -> TableCell:
    """Which questions and which planted texts get through."""
    shown = rate_cell(cell, "poison_hit")
    mark = marked(cell.differences.get("poison_kept"))
    texts = f"texts {percent(cell.rates['poison_kept'])}{mark}"
    return TableCell(shown.text, f"{shown.detail}; {texts}", shown.value)


def separation_cell(cell: Result) -> TableCell:
    """How well planted and clean texts are told apart, and what becomes of relevance."""
    apart, order = cell.means["apart"], cell.means["in_order"]
    return TableCell(f"{number(apart, 2)} / {number(order, 2, '+')}", value=apart)


COUNTED: Final = {
    "passes": "passes",
    "hidden tokens": "masked",
    "attention": "attended",
    "completions": "calls",
    "scored prompts": "forwards",
    "embeddings": "embeddings",
}
