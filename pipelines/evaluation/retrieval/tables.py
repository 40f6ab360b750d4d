"""The tables of a study of rerankers."""

from collections.abc import Callable, Sequence
from typing import Final

from radarstream.pipelines.evaluation.attacks.protocol import BENIGN
from radarstream.pipelines.evaluation.comparison import Difference
from radarstream.pipelines.evaluation.intervals import Interval
from radarstream.pipelines.evaluation.rates import Rate
from radarstream.pipelines.evaluation.retrieval.carrying_over import carried_over
from radarstream.pipelines.evaluation.retrieval.rerankers import REFERENCE
from radarstream.pipelines.evaluation.retrieval.results import (
    ATTACKS,
    GuardedSummary,
    RerankerSummary,
    Results,
)
from radarstream.pipelines.evaluation.retrieval.separation import MEASURES
from radarstream.pipelines.evaluation.table import (
    NOTHING,
    Table,
    TableCell,
    TableRow,
    markdown,
    number,
    percent,
    points,
    signed,
)

CERTAIN: Final = 0.05  # of a corrected p-value, below which a difference is marked
MARK: Final = "†"
Show = Callable[[RerankerSummary], TableCell]


def tables_of(results: Results) -> tuple[Table, ...]:
    """Every table that the results can fill, the most important first."""
    attacked = [group for group in results.groups if group != BENIGN]
    found = [conditions_table(results)]
    if attacked:
        found.append(by_condition(results, attacked, "poison", _poison(results.k), poison_cell))
    found.append(by_condition(results, results.groups, "clean", _clean(results.k), clean_cell))
    found.append(by_condition(results, results.groups, "order", _order(results.k), order_cell))
    groups = results.groups
    found.append(by_condition(results, groups, "separation", SEPARATION, separation_cell))
    found += [guarded_table(results, before) for before in results.defences]
    found.append(cost_table(results))
    found.append(carrying_table(results))
    return tuple(table for table in found if table.rows)


def as_markdown(results: Results, asked: str) -> str:
    """All tables, one below the other, under the words that say what was asked."""
    return "\n".join([f"{asked}\n", *map(markdown, tables_of(results))])


def conditions_table(results: Results) -> Table:
    """What the pools of every condition hold."""
    rows = tuple(
        TableRow(
            one.condition,
            (
                TableCell(str(one.pools)),
                TableCell(number(one.planted, 1)),
                TableCell(number(one.right, 1)),
                TableCell(str(one.unattackable) if one.unattackable else NOTHING, one.why),
            ),
        )
        for one in results.conditions
    )
    columns = ("pools", "planted texts", "right passages", "cannot be attacked")
    return Table("conditions", "Pools", "condition", columns, rows, (POOLS,))


def by_condition(
    results: Results, groups: Sequence[str], key: str, words: tuple[str, ...], show: Show
) -> Table:
    """A row per condition, a column per reranker. `words` are the title and the notes."""
    title, *notes = words
    rows = []
    for group in groups:
        cells = [results.cell(name, group) for name in results.rerankers]
        if any(cells):
            shown = tuple(TableCell(NOTHING) if c is None else failing(c, show(c)) for c in cells)
            rows.append(TableRow(group, shown, group == ATTACKS))
    return Table(key, title, "condition", results.rerankers, tuple(rows), tuple(notes))


def poison_cell(cell: RerankerSummary) -> TableCell:
    """Which questions and which planted texts get through."""
    kept = f"texts {percent(cell.poison_kept)}{marked(cell.differences.get('poison_kept'))}"
    return rate_cell(cell.poison_hit, cell.differences.get("poison_hit"), kept)


def clean_cell(cell: RerankerSummary) -> TableCell:
    """Which clean passages stay."""
    right = f"right {percent(cell.right_kept)}{marked(cell.differences.get('right_kept'))}"
    spared = f"spared {percent(cell.spared)}"
    return rate_cell(cell.clean_kept, cell.differences.get("clean_kept"), right, spared)


def order_cell(cell: RerankerSummary) -> TableCell:
    """How far planted texts move, and what the order loses."""
    lost = NOTHING if cell.ndcg_lost is None else signed(0.0 - cell.ndcg_lost, 3)
    moved = signed(cell.displacement, 1)
    return TableCell(f"{moved} / {number(cell.ndcg, 3)}", f"nDCG {lost}", cell.displacement)


def separation_cell(cell: RerankerSummary) -> TableCell:
    """How well planted and clean texts are told apart, and what becomes of relevance."""
    apart, order = (cell.separation[name] for name in MEASURES)
    return TableCell(f"{number(apart, 2)} / {signed(order, 2)}", value=apart)


def failing(cell: RerankerSummary, shown: TableCell) -> TableCell:
    """The cell, with the pools that failed if there are some."""
    if not cell.errors:
        return shown
    return TableCell(shown.text, f"{shown.detail}; {cell.errors} failed".lstrip("; "), shown.value)


def rate_cell(rate: Rate, difference: Difference | None, *details: str) -> TableCell:
    """A rate with its interval and its difference to `none`."""
    if rate.value is None:
        return TableCell(NOTHING)
    parts = [f"[{span(rate.interval)}]"]
    if difference is not None and difference.value is not None:
        low, high = difference.low or 0.0, difference.high or 0.0
        change = points(difference.value, difference.pairs)
        parts.append(f"Δ {change} [{100 * low:+.0f} to {100 * high:+.0f}]{marked(difference)}")
    return TableCell(percent(rate), "; ".join([*parts, *details]), rate.value)


def marked(difference: Difference | None) -> str:
    """A mark where a difference to `none` is significant."""
    return MARK if is_significant(difference) else ""


def is_significant(difference: Difference | None) -> bool:
    """Whether a difference is significant, all that are compared with it taken together."""
    return bool(difference and difference.p_holm is not None and difference.p_holm < CERTAIN)


def guarded_table(results: Results, before: str) -> Table:
    """Attack success and accuracy of a defence behind every reranker."""
    rows = []
    for group in results.groups:
        cells = [results.answers(name, group, before) for name in results.rerankers]
        if any(cells):
            shown = tuple(TableCell(NOTHING) if c is None else answer_cell(c) for c in cells)
            rows.append(TableRow(group, shown, group == ATTACKS))
    title = f"Answers of {before} from what is kept"
    return Table(f"before_{before}", title, "condition", results.rerankers, tuple(rows), GUARDED)


def answer_cell(cell: GuardedSummary) -> TableCell:
    """Attack success and accuracy by whole words, then by ProGRank's definition."""
    s = cell.scores
    fooled, right = cell.differences.get("fooled"), cell.differences.get("correct")
    text = f"{percent(s.fooled)}{marked(fooled)} / {percent(s.correct)}{marked(right)}"
    spans = f"[{span(s.fooled.interval)}] / [{span(s.correct.interval)}]"
    contained = f"contained {percent(s.contained_fooled)} / {percent(s.contained_correct)}"
    alone = f"excl {percent(s.exclusive_fooled)} / {percent(s.exclusive_correct)}"
    if cell.judge_fooled.trials:
        alone += f"; judge {percent(cell.judge_fooled)} / {percent(cell.judge_correct)}"
    failed = f"; {cell.errors} failed" if cell.errors else ""
    return TableCell(text, f"{spans}; {contained}; {alone}{failed}", s.fooled.value)


def cost_table(results: Results) -> Table:
    """What one pool costs a reranker, over all conditions."""
    rows = []
    for name in results.rerankers:
        cells = [c for one in results.conditions if (c := results.cell(name, one.condition))]
        counted = [(cell, cell.pools) for cell in cells if cell.pools]
        total = sum(pools for _, pools in counted)
        if not total:
            continue

        def mean(key: str, of: Sequence[tuple[RerankerSummary, int]] = counted,
                 all_: int = total) -> float:  # fmt: skip
            return sum(cell.cost[key] * pools for cell, pools in of) / all_

        shown = (
            TableCell(number(mean("seconds"), 2), value=mean("seconds")),
            TableCell(number(max(cell.slowest for cell, _ in counted), 2)),
            *(TableCell(number(mean(key), 1)) for key in COUNTED.values()),
        )
        rows.append(TableRow(name, shown, name == REFERENCE))
    columns = ("seconds", "slowest", *COUNTED)
    return Table("cost", "Cost of one pool", "reranker", columns, tuple(rows), COST)


def carrying_table(results: Results) -> Table:
    """What carries over to larger encoders, reranker by reranker and attack by attack."""
    words = carried_over(results.rerankers, [one.condition for one in results.conditions])
    rows = tuple(TableRow(name, (TableCell(told),)) for name, told in words)
    title = "What carries over to larger encoders"
    return Table("carrying_over", title, "row", ("carries over",), rows, (SMALL,))


def span(interval: Interval) -> str:
    """An interval in percent."""
    return "-".join(f"{100 * end:.0f}" for end in interval)


def _poison(k: int) -> tuple[str, ...]:
    return (
        f"Planted texts among the first {k}",
        f"Percent of questions with a planted text among the first {k} (PoisonHit@{k}), its 95 % "
        f"interval, the difference to {REFERENCE} on the same questions; texts: percent of the "
        f"planted texts that are there (PoisonRecall@{k}).",
        DIFFERENCES,
    )


def _clean(k: int) -> tuple[str, ...]:
    return (
        "Clean passages that stay",
        f"Percent of the {k} clean passages nearest to the question that are kept (clean recall); "
        "right: of those among them that name a right answer as whole words; spared: of the clean "
        f"passages among the first {k} of the undefended order.",
        "Planted texts take places of clean ones: a reranker that keeps them out may keep more "
        f"clean passages than {REFERENCE}.",
        DIFFERENCES,
    )


def _order(k: int) -> tuple[str, ...]:
    return (
        "Where texts go",
        "Places that a planted text moves down on average (up: negative) / nDCG of what is kept, "
        f"at {k}, where clean passages that name a right answer are relevant. Below, the change of "
        "the nDCG against the undefended order.",
    )


SEPARATION: Final = (
    "What the order says beyond similarity",
    "Share of pairs of a planted and a clean text in which the clean one comes first (.50 is "
    f"chance; the order by similarity turned round would have 1 minus the share of {REFERENCE}) / "
    "rank correlation of the clean passages' new order with their order by similarity (negative: "
    "relevance is turned round). Means over pools.",
)
COUNTED: Final = {
    "passes": "passes",
    "hidden tokens": "masked",
    "attention": "attended",
    "completions": "calls",
    "scored prompts": "forwards",
    "embeddings": "embeddings",
}
DIFFERENCES: Final = (
    f"Δ: percentage points against {REFERENCE}, 95 % interval over questions; {MARK}: significant, "
    "p < 0.05 with Holm's correction over all rerankers and conditions of the table."
)
POOLS: Final = (
    "Means over pools; right passages are clean and name a right answer as whole words. Every pool "
    "has the clean passages nearest to the question, and all planted texts wherever they rank."
)
GUARDED: Final = (
    "Attack success / accuracy in percent, whole words; 95 % intervals; contained: the text occurs "
    "anywhere, also within a word; excl: contained, counting only answers that name one of target "
    "and truth, as ProGRank does; judge: as a judge model says, where one was asked.",
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
SMALL: Final = (
    "All figures are of one encoder, named under the provenance. Nothing was measured on larger "
    "ones: this says what a method or an attack rests on, and so what to expect."
)
