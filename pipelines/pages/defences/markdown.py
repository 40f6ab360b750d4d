"""The tables of a study as one Markdown file, for papers and notes."""

import re

from radarstream.connectors.models.bundled import licences
from radarstream.pipelines.evaluation.defences.records import DefencesRecord
from radarstream.pipelines.evaluation.defences.tables import tables_of
from radarstream.pipelines.evaluation.table import (
    Table,
    TableCell,
    TableRow,
    escaped,
    markdown,
)
from radarstream.pipelines.pages.defences.definitions import DEFINITIONS
from radarstream.pipelines.pages.defences.view import DefencesView
from radarstream.pipelines.pages.safe_text import shorten, visible, without_secrets

LINE_CHARACTERS = 1_000
SIGNIFICANT_DIGITS = 4


def markdown_tables(view: DefencesView) -> str:
    """The whole file."""
    record = view.record
    origin = "; ".join(f"{name} {value}" for name, value in provenance(record)) + "."
    parts = [
        f"# {plain(record.dataset)}: defences under attack",
        " ".join(map(plain, (view.headline.verdict, *view.headline.sentences))),
        *(markdown(_visible(table)).strip() for table in tables_of(view.scoreboard)),
        markdown(data_table(record)).strip(),
        "### Definitions",
        "\n".join(f"- **{term}**: {meaning}" for term, meaning in DEFINITIONS.items()),
        "### Provenance",
        f"{plain(origin)}\n\n{fenced(record.command)}",
    ]
    return "\n\n".join(parts) + "\n"


def data_table(record: DefencesRecord) -> Table:
    """What the study asked about."""
    run: dict[str, object] = {
        "questions asked": record.questions,
        "snapshots asked": record.snapshots,
        "documents of a snapshot, at most": record.k,
        "data set": record.dataset,
        "digest": record.dataset_digest,
    }
    held = {
        f"in the data set: {str(name).replace('_', ' ')}": value
        for name, value in without_secrets(record.statistics).items()
    }
    rows = [TableRow(_line(k), (TableCell(_fact(v)),)) for k, v in (run | held).items()]
    return Table("data", "Data", "quantity", ("value",), tuple(rows))


def _fact(value: object) -> str:
    """A figure, or several in one line; a rate as such.

    >>> _fact({"hits": 1, "trials": 4, "share": 0.25}), _fact({"least": 1, "most_of": 2.5})
    ('1 of 4', 'least 1, most of 2.5')
    """
    if not isinstance(value, dict):
        return _line(value)
    if {"hits", "trials"} <= set(value):
        return f"{value['hits']} of {value['trials']}"
    return _line(", ".join(f"{str(k).replace('_', ' ')} {_fact(v)}" for k, v in value.items()))


def provenance(record: DefencesRecord) -> list[tuple[str, object]]:
    """Which code, models and seed, and for how long."""
    return [
        ("revision", record.revision),
        *record.models.items(),
        *(("licence of weights", told) for told in licences(record.models.values())),
        ("seed", record.seed),
        ("attacks on the", record.surface),
        ("seconds", f"{record.seconds:.0f}"),
    ]


def plain(value: str) -> str:
    """One line of untrusted text that Markdown shows as it is, hidden characters shown."""
    return escaped(shorten(value, LINE_CHARACTERS))


def fenced(value: str) -> str:
    """A block of code that its content cannot end."""
    shown = str(visible(value))
    longest = max((len(run) for run in re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{shown}\n{fence}"


def _visible(table: Table) -> Table:
    """The table with hidden characters of names and errors shown."""
    rows = [
        TableRow(
            _line(row.heading),
            tuple(TableCell(_line(c.text), _line(c.detail), c.value) for c in row.cells),
            row.reference,
        )
        for row in table.rows
    ]
    columns = tuple(_line(column) for column in table.columns)
    notes = tuple(_line(note) for note in table.notes)
    return Table(table.key, _line(table.title), table.corner, columns, tuple(rows), notes)


def _line(value: object) -> str:
    if isinstance(value, float):
        value = f"{value:.{SIGNIFICANT_DIGITS}g}"
    return shorten(str(value), LINE_CHARACTERS)
