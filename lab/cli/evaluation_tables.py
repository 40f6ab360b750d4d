"""Tables of a study on the terminal, in as many parts as it needs."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from textwrap import wrap

from rich import box
from rich.table import Table as RichTable
from rich.text import Text

from radarstream.lab.study.table import Table, TableCell
from radarstream.pipelines.cli.terminal import cell, say, stdout
from radarstream.schemas.shown import one_line

NAME_CHARACTERS = 32  # a longer name is folded
CELL_CHARACTERS = 8  # what an interval needs at least: "[41-93 /"
COST_CHARACTERS = 7  # what a quantity needs at least: "counted"
GAP = 2  # between columns


def print_tables(tables: Iterable[Table]) -> None:
    """Print tables, each with its notes below."""
    for table in tables:
        for part in _parts(table, stdout.width):
            stdout.print(_drawn(part))
        for text in table.notes:
            say(text, style="dim", wrap=True)


def print_headline(sentence: str, more: Iterable[str]) -> None:
    """Print what was found, and how sure that is."""
    say("")
    say(sentence, style="bold", wrap=True)
    for text in more:
        say(text, wrap=True)
    say("")


def brief(table: Table) -> Table:
    """The table as a terminal shows it: of each cell the figures and their interval, of costs
    neither embeddings nor the seconds of stages.
    """
    if table.key == "cost":
        shown = [n for n, head in enumerate(table.columns) if head[:2] not in ("s ", "em")]
        rows = (replace(row, cells=tuple(row.cells[n] for n in shown)) for row in table.rows)
        heads = tuple(table.columns[n] for n in shown)
        return replace(table, columns=heads, rows=tuple(rows))
    rows = (
        replace(row, cells=tuple(replace(c, detail=c.detail.partition(";")[0]) for c in row.cells))
        for row in table.rows
    )
    return replace(table, rows=tuple(rows))


def _parts(table: Table, width: int) -> Iterator[Table]:
    """The table cut into tables of fewer columns, each fit for a terminal of that width."""
    names = max((len(row.heading) for row in table.rows), default=0)
    room = width - min(names, NAME_CHARACTERS)
    most = max(1, room // ((COST_CHARACTERS if table.key == "cost" else CELL_CHARACTERS) + GAP))
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


def _drawn(table: Table) -> RichTable:
    """The table for a terminal; its reference is bold."""
    shown = RichTable(
        title=one_line(table.title),
        box=box.SIMPLE_HEAD,
        header_style="bold",
        padding=(0, 1, 0, 0),
        pad_edge=False,
        show_edge=False,
    )
    shown.add_column(one_line(table.corner), no_wrap=True)
    for column in table.columns:
        shown.add_column(
            cell(column), overflow="fold", justify="right" if table.key == "cost" else "left"
        )
    for row in table.rows:
        name = "\n".join(wrap(one_line(row.heading), NAME_CHARACTERS))
        shown.add_row(Text(name), *map(_entry, row.cells), style="bold" if row.reference else "")
    return shown


def _entry(entry: TableCell) -> Text:
    """An entry and its detail, which is dim."""
    if not entry.detail:
        return cell(entry.text)
    return Text(" ").join([cell(entry.text), cell(entry.detail, "dim not bold")])
