"""A study on the terminal: accuracy, attack success, cost, then the verdict."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from textwrap import wrap

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from radarstream.pipelines.cli.terminal import cell, print_json, print_path, printable, stdout
from radarstream.pipelines.evaluation.defences.defences import DefenceStudy
from radarstream.pipelines.evaluation.defences.scoreboard import Scoreboard
from radarstream.pipelines.evaluation.defences.tables import tables_of
from radarstream.pipelines.evaluation.table import Table, TableCell, TableRow
from radarstream.pipelines.pages.defences.headline import Headline

SHOWN = ("rates", "rates_on_attacked_steps", "judged", "dynamics", "cost")
COST_COLUMNS = {
    "answers": "answers",
    "errors": "errors",
    "model calls": "calls",
    "tokens in": "tokens in",
    "tokens out": "tokens out",
    "relation pairs": "pairs",
    "s in all": "seconds",
}
NAME_CHARACTERS = 32  # a longer name is folded
CELL_CHARACTERS = 8  # what an interval needs at least: "[41-93 /"
COST_CHARACTERS = 7  # what a quantity needs at least: "counted"
GAP = 2  # between columns


def print_study(
    study: DefenceStudy, board: Scoreboard, headline: Headline, *, as_json: bool
) -> None:
    """Print what a person wants to see first, the verdict last: that is where the cursor is."""
    if as_json:
        found = {"record": asdict(study.record), "results": asdict(board)}
        print_json(found | {"headline": asdict(headline)})
        return
    for table in tables_of(board):
        if table.key in SHOWN:
            print_table(brief(table))
    print_headline(headline)
    print_path("report", study.out / "report.html")


def print_table(table: Table) -> None:
    """Print a table in as many parts as the terminal needs, then its notes."""
    for part in parts(table, stdout.width):
        stdout.print(drawn(part))
    for note in table.notes:
        stdout.print(printable(note, 1_000), style="dim", markup=False, highlight=False)


def print_headline(headline: Headline) -> None:
    """Print which contender to run, and how sure that is."""
    stdout.print()
    stdout.print(printable(headline.verdict, 2_000), style="bold", markup=False, highlight=False)
    for sentence in headline.sentences:
        stdout.print(printable(sentence, 2_000), markup=False, highlight=False)
    stdout.print()


def brief(table: Table) -> Table:
    """The cost table with the columns that a narrow terminal has room for; others as they are.

    Answers are shown where contenders differ in them, errors where there are some.
    """
    if table.key != "cost":
        return table
    wanted = [number for number, name in enumerate(table.columns) if name in COST_COLUMNS]
    for name in ("answers", "errors"):
        column = table.columns.index(name)
        values = {row.cells[column].text for row in table.rows}
        if len(values) == 1 and (name == "answers" or values == {"0"}):
            wanted.remove(column)
    columns = tuple(COST_COLUMNS[table.columns[number]] for number in wanted)
    rows = (replace(row, cells=tuple(row.cells[n] for n in wanted)) for row in table.rows)
    return replace(table, columns=columns, rows=tuple(rows))


def parts(table: Table, width: int, least: int | None = None) -> Iterator[Table]:
    """The table cut into tables of fewer columns, each fit for a terminal of that width.

    `least` is what a column needs in characters; default: what the tables of `evaluate` need.
    """
    names = max((len(row.heading) for row in table.rows), default=0)
    room = width - min(names, NAME_CHARACTERS)
    if least is None:
        least = COST_CHARACTERS if table.key == "cost" else CELL_CHARACTERS
    most = max(1, room // (least + GAP))
    cuts = -(-len(table.columns) // most) or 1
    size = -(-len(table.columns) // cuts)
    for start in range(0, len(table.columns), size):
        shown = slice(start, start + size)
        yield replace(
            table,
            title=f"{table.title}, continued" if start else table.title,
            columns=table.columns[shown],
            rows=tuple(replace(row, cells=row.cells[shown]) for row in table.rows),
        )


def drawn(table: Table) -> RichTable:
    """The table for a terminal; its reference is bold."""
    shown = RichTable(
        title=printable(table.title),
        box=box.SIMPLE_HEAD,
        header_style="bold",
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    shown.add_column(printable(table.corner), no_wrap=True)
    for column in table.columns:
        shown.add_column(
            cell(column), overflow="fold", justify="right" if table.key == "cost" else "left"
        )
    for row in table.rows:
        shown.add_row(*words_of(row), style="bold" if row.reference else "")
    return shown


def words_of(row: TableRow) -> list[Text]:
    """A row's heading and cells, details dim."""
    name = "\n".join(wrap(printable(row.heading), NAME_CHARACTERS))
    return [Text(name), *map(entry_words, row.cells)]


def entry_words(entry: TableCell) -> Text:
    """An entry and its detail."""
    if not entry.detail:
        return cell(entry.text)
    return Text(" ").join([cell(entry.text), cell(entry.detail, "dim not bold")])
