"""The tables of a study of rerankers."""

from collections.abc import Callable, Iterable
from typing import Final

from radarstream.lab.retrieval.rerankers import REFERENCE
from radarstream.lab.retrieval.scoring import RetrievalResults
from radarstream.lab.study.results import (
    ATTACKS,
    MARK,
    Result,
    cost_rows,
    grid,
    marked,
    mean_cell,
    rate_cell,
    rates_cell,
)
from radarstream.lab.study.table import NOTHING, Table, TableCell, TableRow, number, percent, signed

Show = Callable[[Result], TableCell]


def tables_of(results: RetrievalResults) -> tuple[Table, ...]:
    """Every table that the results can fill, the most important first."""
    attacked = [cell for cell in results.cells if cell.rates["poison_hit"].trials]

    def by_condition(
        key: str, title: str, cells: Iterable[Result], show: Show, notes: tuple[str, ...]
    ) -> Table:
        table = Table(key, title, "condition", results.methods, (), notes)
        return grid(table, cells, show, {ATTACKS})

    tables = [
        conditions_table(results),
        by_condition("poison", "Planted texts kept", attacked, poison_cell, POISON),
        by_condition("clean", "Clean passages kept", results.cells, clean_cell, CLEAN),
        by_condition("order", "nDCG of what is kept", results.cells, ndcg_cell, ORDER),
        by_condition("separation", BEYOND, results.cells, separation_cell, SEPARATION),
        *(
            by_condition(
                f"before_{name}",
                f"Answers of {name}",
                cells,
                rates_cell("fooled", "correct"),
                GUARDED,
            )
            for name, cells in results.answers.items()
        ),
        cost_table(results),
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
    return Table("conditions", "Pools", "condition", columns, rows, (POOLS,))


def poison_cell(cell: Result) -> TableCell:
    """Which questions and which planted texts get through."""
    shown = rate_cell(cell, "poison_hit")
    mark = marked(cell.differences.get("poison_kept"))
    texts = f"texts {percent(cell.rates['poison_kept'])}{mark}"
    return TableCell(shown.text, f"{shown.detail}; {texts}", shown.value)


def clean_cell(cell: Result) -> TableCell:
    """Which clean passages stay."""
    return rate_cell(cell, "clean_kept")


def ndcg_cell(cell: Result) -> TableCell:
    """How near right passages are to the top."""
    return mean_cell(cell, "ndcg")


def separation_cell(cell: Result) -> TableCell:
    """How well planted and clean texts are told apart, and what becomes of relevance."""
    apart, order = cell.means["apart"], cell.means["in_order"]
    return TableCell(f"{number(apart, 2)} / {signed(order, 2)}", value=apart)


def cost_table(results: RetrievalResults) -> Table:
    """What one pool costs a reranker, over all conditions."""
    rows = cost_rows(results.alone, results.methods, [*COUNTED.values()], REFERENCE)
    return Table("cost", "Cost of one pool", "reranker", ("seconds", *COUNTED), rows, COST)


COUNTED: Final = {
    "passes": "passes",
    "hidden tokens": "masked",
    "attention": "attended",
    "completions": "calls",
    "scored prompts": "forwards",
    "embeddings": "embeddings",
}
DIFFERENCES: Final = (
    f"Δ: percentage points against {REFERENCE} on the same questions, 95 % interval over "
    f"questions; {MARK}: significant, p < 0.05 with Holm's correction over all rerankers and "
    "conditions of the table."
)
POISON: Final = (
    "Percent of questions with a planted text among those kept (PoisonHit) with its 95 % interval; "
    "texts: percent of the planted texts that are kept (PoisonRecall).",
    DIFFERENCES,
)
CLEAN: Final = (
    "Percent of the clean passages nearest to the question, as many as are kept, that are kept "
    "(clean recall). Planted texts take places of clean ones: a reranker that keeps them out may "
    f"keep more clean passages than {REFERENCE}.",
    DIFFERENCES,
)
ORDER: Final = ("Clean passages that name a right answer are relevant. Means over pools.",)
BEYOND: Final = "What the order says beyond similarity"
SEPARATION: Final = (
    "Share of pairs of a planted and a clean text in which the clean one comes first (.50 is "
    f"chance; the order by similarity turned round would have 1 minus the share of {REFERENCE}) / "
    "rank correlation of the clean passages' new order with their order by similarity (negative: "
    "relevance is turned round). Means over pools.",
)
POOLS: Final = (
    "Every pool has the clean passages nearest to the question, and all planted texts wherever "
    "they rank."
)
GUARDED: Final = (
    "Attack success / accuracy in percent, whole words; 95 % intervals.",
    f"{MARK}: significantly different from {REFERENCE}, p < 0.05 with Holm's correction over all "
    "rerankers and conditions of the table.",
)
COST: Final = (
    "Means over pools of all conditions. Seconds are wall clock, whatever else the machine was "
    "doing. Passes are forward and backward passes of one passage; gradients and hidden tokens "
    "that an earlier pool asked for count with what they took then. Attention counts prompts; the "
    "leave-one-out substitute scores each once more for every passage. What a response cache knew "
    "before takes next to nothing, so that only a first run measures seconds.",
)
