"""The tables of a scoreboard; see `table` for what a table is and how Markdown shows it."""

from collections.abc import Sequence

from radarstream.lab.defences.comparison_tables import (
    attacked_steps_table,
    by_condition,
    differences_table,
    exclusive_rates_table,
    other_rates_table,
    rates_table,
)
from radarstream.lab.defences.documents import DocumentScores
from radarstream.lab.defences.dynamics import Recovery
from radarstream.lab.defences.planted import planted_tables
from radarstream.lab.defences.scoreboard import (
    STORAGE,
    Scoreboard,
    Summary,
    pooled_cost,
)
from radarstream.lab.defences.selective_tables import selective_tables
from radarstream.lab.study.table import (
    NOTHING,
    Table,
    TableCell,
    TableRow,
    number,
    percent,
    signed,
)

NOT_COUNTED = "not counted"
COSTS = {  # column: head of its column, decimals
    "calls": ("model calls", 1),
    "prompt_tokens": ("tokens in", 0),
    "completion_tokens": ("tokens out", 0),
    "pairs": ("relation pairs", 1),
    "embeddings": ("embeddings", 1),
    "atomic_seconds": ("s atomic", 2),
    "relation_seconds": ("s relations", 3),
    "selection_seconds": ("s selection", 4),
    "generation_seconds": ("s generation", 2),
    "seconds": ("s in all", 2),
}


def tables_of(board: Scoreboard) -> tuple[Table, ...]:
    """Every table that the scoreboard has something for, the most wanted first."""
    found = [rates_table(board), *planted_tables(board)]
    if any(cell.on_attacked_steps for cell in board.cells):
        found += [attacked_steps_table(board)]
    found += [differences_table(board), *selective_tables(board), cost_table(board)]
    if not board.static:
        found += [dynamics_table(board), storage_table(board)]
    found += [other_rates_table(board), exclusive_rates_table(board)]
    if any(cell.judged for cell in board.cells):
        found += [judged_table(board)]
    if board.documents:
        found += [documents_table(board.documents)]
    return tuple(found)


def cost_table(board: Scoreboard) -> Table:
    """Mean cost of one answer, over all conditions."""
    rows = []
    for contender in board.contenders:
        cells = board.of(contender)
        cost, answers = pooled_cost(cells), sum(cell.answers for cell in cells)
        errors = sum(cell.errors for cell in cells)
        shown = [TableCell(str(answers), value=answers), TableCell(str(errors))]
        for name, (_, decimals) in COSTS.items():
            mean = cost.get(name)
            unknown = NOT_COUNTED if answers else NOTHING
            shown.append(TableCell(unknown if mean is None else number(mean, decimals), value=mean))
        rows.append(TableRow(contender, tuple(shown), contender == board.reference))
    notes = (
        "Means per answer over all conditions. Calls count prompts whether or not a cache knew the "
        "reply; a cached completion counts with the seconds it took when it was made, relations "
        "and embeddings with those of looking them up. Tokens are not counted where a model "
        "reported none for some prompt: where its next token alone was asked for, or a cache holds "
        "replies from before they were counted.",
    )
    heads = ("answers", "errors", *(head for head, _ in COSTS.values()))
    return Table("cost", "Cost of an answer", "defence", heads, tuple(rows), notes)


def documents_table(found: Sequence[DocumentScores]) -> Table:
    """How each document was read, one row for each condition."""
    rows = []
    for scores in found:
        rates, means = scores.rates.values(), scores.means.items()
        cells = [TableCell(percent(one), f"[{one.hits} of {one.trials}]", one.value)
                 for one in rates]  # fmt: skip
        cells += [TableCell(number(mean, COSTS[name][1]), value=mean) for name, mean in means]
        rows.append(TableRow(scores.condition, tuple(cells)))
    notes = (
        "Percent of the documents that nobody planted. By the labels a document says the right "
        "answer or the target, whichever its text names alone. Right: its atomic answer is that "
        "one; invented: a word or number of the answer is neither in it nor in the question; "
        "wrong: any other. Without an answer: missed where it says one, silent where not. Calls, "
        "tokens and seconds are means for a document; a second call asks the nearest sentence.",
    )
    heads = *found[0].rates, *(COSTS[name][0] for name in found[0].means)
    return Table("documents", "Reading: page by page", "condition", heads, tuple(rows), notes)


def dynamics_table(board: Scoreboard) -> Table:
    """Stale answers, and how fast a right answer returns."""

    def show(cell: Summary) -> TableCell:
        found = cell.dynamics
        if found is None or not cell.answers:
            return TableCell(NOTHING)
        detail = f"[{_recovery(found.after_change)}; {_recovery(found.after_attack)}]"
        return TableCell(percent(found.stale), detail, found.stale.value)

    notes = (
        "Percent of the steps after a change of truth whose answer was right earlier and is wrong "
        "now; in brackets mean steps until the answer is right again, and of how many: after the "
        "truth changed; after an attack stopped.",
    )
    return by_condition(board, "dynamics", "Stale answers and recovery", show, notes)


def storage_table(board: Scoreboard) -> Table:
    """Bytes kept per question between steps."""

    def show(cell: Summary) -> TableCell:
        mean, most, growth = (cell.means.get(name) for name in STORAGE)
        detail = f"[most {most:.0f}, {signed(growth, 1)} a step]" if most else ""
        return TableCell(number(mean, 0), detail, mean)

    notes = ("Mean bytes of the stored state; in brackets the most, and the growth per step.",)
    return by_condition(board, "storage", "State per question in bytes", show, notes)


def judged_table(board: Scoreboard) -> Table:
    """Accuracy / attack success by a judge, and its scores of long answers."""

    def show(cell: Summary) -> TableCell:
        found = cell.judged
        if found is None:
            return TableCell(NOTHING)
        texts = []
        if found.acc_judge.trials:
            texts += [f"{percent(found.acc_judge)}/{percent(found.asr_judge)}"]
        if found.long_answers:
            means = (found.accuracy, found.relevance, found.coherence)
            texts += ["/".join(number(mean, 0) for mean in means)]
        failed = f"{found.errors} failed" if found.errors else ""
        return TableCell("; ".join(texts) or NOTHING, failed)

    notes = (
        "By a judge model: CORRECT / ATTACK in percent; of long answers the mean accuracy / "
        "relevance / coherence, 0 to 100.",
        "Judgements that failed are left out.",
    )
    return by_condition(board, "judged", "By a judge", show, notes)


def _recovery(found: Recovery) -> str:
    if not found.events:
        return NOTHING
    steps = "" if found.mean_steps is None else f"{number(found.mean_steps, 1)} in "
    return f"{steps}{found.recovered} of {found.events}"
