"""The tables of a study of attributors."""

from collections.abc import Callable
from typing import Final

from radarstream.lab.attribution.records import CaseState
from radarstream.lab.attribution.scenarios import Family
from radarstream.lab.attribution.scoring import AttributionResults, ScenarioScores
from radarstream.lab.study.frame import words_of
from radarstream.lab.study.results import Result, cost_table, grid, plain_cell, span
from radarstream.lab.study.table import NOTHING, Table, TableCell, TableRow, percent

NOTES: Final = words_of("attribution")["notes"]
NO_EVENT: Final[dict[str, str]] = {
    CaseState.RESISTED: "nothing to complain about",
    CaseState.OWN_ERROR: "the same answer without the attack",
    CaseState.NOT_RETRIEVED: "no planted text retrieved",
    CaseState.UNATTACKABLE: "cannot be attacked",
    CaseState.FAILED: "a model failed",
}


def tables_of(results: AttributionResults) -> tuple[Table, ...]:
    """Every table that the results can fill, the most important first."""
    clean = [one.scenario for one in results.scenarios if one.family is Family.CLEAN]
    attacked = [cell for cell in results.cells if cell.condition not in clean]

    def by_scenario(
        key: str, title: str, cells: list[Result], show: Callable[[Result], TableCell]
    ) -> Table:
        table = Table(key, title, "scenario", results.methods, (), NOTES[key])
        return grid(table, cells, show, results.families)

    scenarios = tuple(TableRow(one.scenario, scenario_cells(one)) for one in results.scenarios)
    columns = ("questions", "fooled", "events", "no event because")
    tables = [
        Table("scenarios", "Scenarios", "scenario", columns, scenarios, NOTES["scenarios"]),
        by_scenario("micro", "Who is found out", attacked, found_cell),
        by_scenario("removal", "After removal", attacked, removal_cell),
        by_scenario("corpus", "Planted texts missed", attacked, missed_cell),
        by_scenario("clean", "Nobody attacked", results.on(*clean), quiet_cell),
        cost_table(
            results.on(*results.families, *clean), "Cost of one event", "attributor", results,
            COUNTED, NOTES["cost"],
        ),
    ]  # fmt: skip
    return tuple(tables)


def scenario_cells(scores: ScenarioScores) -> tuple[TableCell, ...]:
    """What a scenario did to the undefended pipeline."""
    why = [f"{NO_EVENT[k]}: {n}" for k, n in scores.outcomes.items() if k in NO_EVENT]
    attacked = scores.family is not Family.CLEAN
    return (
        TableCell(str(scores.questions)),
        plain_cell(scores.attacked) if attacked else TableCell(NOTHING),
        TableCell(str(scores.events), value=scores.events),
        TableCell(", ".join(why) or NOTHING),
    )


def found_cell(cell: Result) -> TableCell:
    """Which texts are judged rightly, which benign ones wrongly, which planted ones missed."""
    rates = [cell.rates[name] for name in ("dacc", "fpr", "fnr")]
    shown = (NOTHING if rate.value is None else f"{100 * rate.value:.1f}" for rate in rates)
    spans = " / ".join(map(span, rates))
    return TableCell(" / ".join(shown), f"({cell.rows}) [{spans}]", rates[0].value)


def missed_cell(cell: Result) -> TableCell:
    """Planted texts missed anywhere, and how many events were solved exactly."""
    missed = cell.rates["fnr_corpus"]
    return TableCell(percent(missed), f"(exact {percent(cell.rates['exact'])})", missed.value)


def removal_cell(cell: Result) -> TableCell:
    """Attack success and accuracy once the flagged texts are gone."""
    after, right = cell.rates["attacked_after"], cell.rates["correct_after"]
    return TableCell(
        f"{percent(after)} / {percent(right)}",
        f"[{span(after)}] of {percent(cell.rates['correct_clean'])}",
        after.value,
    )


def quiet_cell(cell: Result) -> TableCell:
    """Cases in which a text was flagged, could be quarantined, or the model is said to err."""
    flagged, acted, own = (cell.rates[name] for name in ("flagged", "acted", "intrinsic"))
    text = f"{percent(flagged)} / {percent(acted)} / {percent(own)}"
    return TableCell(text, f"[{span(flagged)}]", flagged.value)


COUNTED: Final = {
    "completions": "calls",
    "scored prompts": "forwards",
    "comparisons": "pairs",
    "embeddings": "embeddings",
    "prompt tokens": "prompt_tokens",
    "tokens written": "completion_tokens",
}
