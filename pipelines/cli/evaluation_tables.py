"""An experiment on the terminal: accuracy and attack success of every contender, then the cost."""

from collections.abc import Sequence

from rich.table import Table

from pipelines.cli.terminal import cell, print_json, print_path, stdout
from pipelines.evaluation.experiment.experiment import Experiment
from pipelines.evaluation.experiment.records import Row
from pipelines.evaluation.metrics import Response, Scores, score


def print_experiment(experiment: Experiment, *, as_json: bool) -> None:
    """Print what a person wants to see first."""
    if as_json:
        print_json({"record": experiment.record})
        return
    stdout.print(scores_table(experiment))
    stdout.print(costs_table(experiment))
    print_path("rows", experiment.out)


def rows_of(experiment: Experiment, contender: str, condition: str) -> list[Row]:
    """The rows of one cell that are answers."""
    return [
        row
        for row in experiment.rows
        if (row.contender, row.condition) == (contender, condition) and row.error is None
    ]


def scores_table(experiment: Experiment) -> Table:
    """Accuracy / attack success per contender and condition, in percent."""
    record = experiment.record
    table = Table(title="accuracy / attack success (%)", header_style="bold")
    table.add_column("contender")
    for condition in record.conditions:
        table.add_column(condition.name)
    for contender in record.contenders:
        cells = [rows_of(experiment, contender.name, c.name) for c in record.conditions]
        table.add_row(cell(contender.name), *map(score_words, cells))
    return table


def score_words(rows: Sequence[Row]) -> str:
    """Accuracy and attack success of one cell."""
    if not rows:
        return "-"
    scores: Scores = score(Response(row.response, row.labels) for row in rows)
    return f"{percent(scores.acc_contains.value)}/{percent(scores.asr_contains.value)}"


def percent(value: float | None) -> str:
    """A share in percent."""
    return "-" if value is None else f"{100 * value:.0f}"


def costs_table(experiment: Experiment) -> Table:
    """Mean cost of an answer."""
    names = ("contender", "answers", "errors", "calls", "tokens", "pairs", "embeddings", "seconds")
    table = Table(*names, title="cost of an answer", header_style="bold")
    for contender in experiment.record.contenders:
        rows = [row for row in experiment.rows if row.contender == contender.name]
        n = max(1, len(rows))
        costs = [row.cost for row in rows]
        table.add_row(
            cell(contender.name),
            str(len(rows)),
            str(sum(row.error is not None for row in rows)),
            f"{sum(c.calls for c in costs) / n:.1f}",
            f"{sum(c.prompt_tokens + c.completion_tokens for c in costs) / n:.0f}",
            f"{sum(c.pairs for c in costs) / n:.0f}",
            f"{sum(c.embeddings for c in costs) / n:.1f}",
            f"{sum(c.seconds for c in costs) / n:.2f}",
        )
    return table
