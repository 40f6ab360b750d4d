"""What the commands share when they print: consoles and text that cannot harm a terminal."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.table import Table
from rich.text import Text

from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.shown import escaped_json, one_line

PIPED_COLUMNS = 1_000  # a pipe or a file has no edge at which ids and topics would be cut


def columns() -> int | None:
    """Width of tables where no terminal says it; None: the terminal, or COLUMNS, says it."""
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else PIPED_COLUMNS


stdout = Console(width=columns())
stderr = Console(stderr=True)  # progress and errors; stdout stays clean for pipes


def printable(text: str, limit: int = 200) -> str:
    """Make untrusted text safe to print: one line, nothing hidden, capped.

    >>> printable("Paris" + chr(27) + "[2J" + chr(10) + "France")
    'Paris[2J France'
    """
    return one_line(text, limit)


def cell(text: str, style: str = "", limit: int = 60) -> Text:
    """Make a table cell of untrusted text; never interpreted as markup."""
    return Text(printable(text, limit), style=style)


def empty_table(*columns: str, whole: Sequence[str] = (), title: str | None = None) -> Table:
    """A table without rows. Its columns fold their text, but for those to be shown `whole`."""
    table = Table(title=title, box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, overflow="fold", no_wrap=name in whole)
    return table


def print_values(values: Mapping[str, object], limit: int) -> None:
    """Print names and values, a line each; nothing for None."""
    table = Table(show_header=False)
    for name, value in values.items():
        table.add_row(name, cell("" if value is None else str(value), limit=limit))
    stdout.print(table)


def note(text: str, limit: int = 500, *, style: str = "") -> None:
    """Say something that is not output: one line on standard error, never as markup."""
    stderr.print(printable(text, limit), style=style, markup=False, highlight=False, soft_wrap=True)


def print_path(label: str, path: Path) -> None:
    """Print where something was written, on one line and never as markup."""
    text = f"{label}: {path}" if label else str(path)
    stdout.print(printable(text, len(text)), highlight=False, markup=False, soft_wrap=True)


def make_directory(directory: Path) -> None:
    """Create a directory and its parents; ConfigurationError if that cannot be."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"cannot write to {directory}: {error.strerror}") from None


def print_json(value: Any) -> None:
    """Print a value as indented JSON on standard output; what is hidden is escaped."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    text = json.dumps(plain, default=str, ensure_ascii=False, indent=2)
    stdout.print(JSONHighlighter()(Text(escaped_json(text))), soft_wrap=True)


def interactive() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty()


def agree(question: str, deed: str, *, yes: bool) -> None:
    """Ask before something that cannot be undone; `yes` was said beforehand with --yes.

    A "no" ends the command with exit code 1. Raises ConfigurationError, which says what --yes
    would do, where nobody can be asked.
    """
    if yes:
        return
    if not interactive():
        raise ConfigurationError(f"give --yes to {deed}")
    typer.confirm(printable(question, 500), abort=True, err=True)
