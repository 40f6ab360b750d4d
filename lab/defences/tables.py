"""The tables of a study of defences; see `study.table` for what a table is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from radarstream.lab.defences.documents import COSTS as DOCUMENT_COSTS
from radarstream.lab.defences.documents import FOOLED, READINGS, DocumentScores
from radarstream.lab.defences.dynamics import Recovery
from radarstream.lab.defences.planted import KEY, curves_table
from radarstream.lab.defences.scores import LONG_FORM, STORAGE, DefenceResults
from radarstream.lab.study.frame import words_of
from radarstream.lab.study.results import (
    ATTACKS,
    MARK,
    Result,
    cost_table,
    grid,
    plain_cell,
    rates_cell,
)
from radarstream.lab.study.scoring import definition
from radarstream.lab.study.table import NOTHING, Table, TableCell, TableRow, number
from radarstream.schemas.wording import counted_noun

NOTES: Final = words_of("defences")["notes"]
TITLE: Final = "Accuracy / attack success"
INTERVALS: Final = "Clopper and Pearson's, a question as one cluster"
COUNTED: Final = {
    "calls": "calls",
    "tokens in": "prompt_tokens",
    "tokens out": "completion_tokens",
    "pairs": "pairs",
    "embeddings": "embeddings",
    "s atomic": "atomic_seconds",
    "s relations": "relation_seconds",
    "s selection": "selection_seconds",
    "s generation": "generation_seconds",
}


def tables_of(results: DefenceResults) -> tuple[Table, ...]:
    """Every table that the results can fill, the most important first."""
    notes, over_time = (results.asked,), () if results.static else results.alone
    by_rates = rates_cell("correct", "fooled")
    tables = [
        by_condition(results, "rates", f"{TITLE} (whole words)", by_rates, rate_notes(results)),
        *(
            curves_table(f"{KEY}_{place}", found.title, found.curves, results.reference, *notes)
            for place, found in enumerate(results.planted, start=1)
        ),
        by_condition(
            results, "rates_on_attacked_steps", f"{TITLE} on attacked steps", by_rates,
            NOTES["rates_on_attacked_steps"],
            results.attacked_steps,
        ),
        cost_table(
            results.alone, "Cost of an answer", "defence", results, COUNTED, NOTES["cost"]
        ),
        by_condition(
            results, "dynamics", "Stale answers and recovery", stale_cell(results),
            NOTES["dynamics"], over_time,
        ),
        by_condition(
            results, "storage", "State per question in bytes", storage_cell, NOTES["storage"],
            over_time,
        ),
        *(
            by_condition(
                results, f"rates_{name}", f"{TITLE} ({name})",
                rates_cell(f"{name}_correct", f"{name}_fooled"), (f"In percent: {meaning}",),
            )
            for name, meaning in OTHERS.items()
        ),
        by_condition(
            results, "judged", "By a judge", judged_cell, NOTES["judged"],
            [c for c in results.cells if c.rates["judge_correct"].trials or long_form(c)],
        ),
        documents_table(results.documents),
    ]  # fmt: skip
    return tuple(tables)


OTHERS: Final[Mapping[str, str]] = {
    "contained": definition("anywhere, also within a word"),
    "exclusive": "the answer contains the one and not the other, also within a word.",
}


def by_condition(
    results: DefenceResults,
    key: str,
    title: str,
    show: Callable[[Result], TableCell],
    notes: Iterable[str],
    cells: Sequence[Result] | None = None,
) -> Table:
    """A row per contender, a column per condition."""
    held = results.cells if cells is None else cells
    pooled = any(cell.condition == ATTACKS for cell in held)
    columns = tuple(name for name in results.groups if pooled or name != ATTACKS)
    table = Table(key, title, "defence", columns, (), tuple(notes))
    return grid(table, held, show, {results.reference}, by="contender")


def rate_notes(results: DefenceResults) -> list[str]:
    """What the rates mean, which tests were made, and how many answers failed."""
    moved = [
        d for cell in results.cells for d in cell.differences.values() if d.p_value is not None
    ]
    failed = sum(cell.errors for cell in results.alone)
    notes = [
        f"In percent: {definition('as whole words')}",
        results.asked,
        f"In brackets 95 % intervals: {INTERVALS}.",
    ]
    if moved:
        tests = " and ".join(sorted({str(difference.test) for difference in moved}))
        notes.append(
            f"Δ: percentage points against {results.reference} on the same answers, Tango's "
            f"interval; attack success under attack only. {MARK}: p < 0.05 ({tests}), after Holm's "
            f"correction within accuracy and within attack success, {len(moved)} tests in all."
        )
    if failed:
        notes.append(
            f"{counted_noun(failed, 'answer')} failed; they are in no rate and no comparison. "
            f"The first: {(results.failure or '')[:200]}"
        )
    return notes


def stale_cell(results: DefenceResults) -> Callable[[Result], TableCell]:
    """Stale answers, and how fast a right answer returns."""
    known = {(one.contender, one.condition): one for one in results.dynamics}

    def show(cell: Result) -> TableCell:
        stale = plain_cell(cell.rates["stale"])
        over_time = known.get(cell.key)
        if over_time is None:
            return stale
        waits = "; ".join(map(_recovery, (over_time.after_change, over_time.after_attack)))
        return TableCell(stale.text, f"{stale.detail}; {waits}".removeprefix("; "), stale.value)

    return show


def _recovery(found: Recovery) -> str:
    if not found.events:
        return NOTHING
    steps = "" if found.mean_steps is None else f"{number(found.mean_steps, 1)} in "
    return f"{steps}{found.recovered} of {found.events}"


def storage_cell(cell: Result) -> TableCell:
    """Bytes kept per question between steps."""
    mean, most, growth = (cell.means.get(name) for name in STORAGE)
    detail = f"[most {most:.0f}, {number(growth, 1, '+')} a step]" if most else ""
    return TableCell(number(mean, 0), detail, mean)


def long_form(cell: Result) -> list[float]:
    """The mean scores of long answers by a judge; none where it was not asked."""
    return [mean for name in LONG_FORM if (mean := cell.means[name]) is not None]


def judged_cell(cell: Result) -> TableCell:
    """Accuracy / attack success by a judge, and its scores of long answers."""
    labels = rates_cell("judge_correct", "judge_fooled")(cell)
    marks = "/".join(number(mean, 0) for mean in long_form(cell))
    return TableCell("; ".join(filter(None, [labels.text.strip("-/"), marks])), labels.detail)


def documents_table(found: Sequence[DocumentScores]) -> Table:
    """How each document was read, one row for each condition."""
    rows = tuple(
        TableRow(
            one.condition,
            (
                *map(plain_cell, one.rates.values()),
                *(TableCell(number(one.means[name], 2)) for name in DOCUMENT_COSTS),
            ),
        )
        for one in found
    )
    costs = ("calls", "tokens in", "tokens out", "s atomic")
    heads = (*READINGS, FOOLED, *costs)
    return Table("documents", "Reading: page by page", "condition", heads, rows, NOTES["documents"])
