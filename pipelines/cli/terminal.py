"""What the commands share when they print: consoles and text that cannot harm a terminal."""

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, is_dataclass
from getpass import getuser
from pathlib import Path
from typing import Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.highlighter import JSONHighlighter
from rich.table import Column, Table
from rich.text import Text

from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.shown import escaped_json, one_line, with_end

PIPED_COLUMNS = 1_000  # a pipe or a file has no edge at which ids and topics would be cut

width_is_known = sys.stdout.isatty() or "COLUMNS" in os.environ
stdout = Console(width=None if width_is_known else PIPED_COLUMNS)
stderr = Console(stderr=True)  # progress and errors; stdout stays clean for pipes


def cell(text: object, style: str = "", limit: int = 60) -> Text:
    """Make a table cell of untrusted text, empty for None; never interpreted as markup."""
    return Text("" if text is None else one_line(str(text), limit), style=style)


def say(text: str, limit: int = 2_000, *, style: str = "", wrap: bool = False) -> None:
    """Print a text on standard output, never as markup: one line, or wrapped between words."""
    stdout.print(Text(one_line(text, limit)), style=style, highlight=False, soft_wrap=not wrap)


def note(text: str, limit: int = 500, *, style: str = "") -> None:
    """Print one line that is not output on standard error, never as markup."""
    stderr.print(Text(with_end(text, limit)), style=style, highlight=False, soft_wrap=True)


def print_table(
    columns: Sequence[str | Column],
    rows: Iterable[Iterable[object]],
    *,
    whole: Sequence[str] = (),
    title: str | None = None,
) -> None:
    """Print a table; a value that is no `Text` becomes a `cell` of up to 200 characters. Columns
    fold, except those in `whole` and those given as a `Column`.
    """
    headers = [
        Column(column, overflow="fold", no_wrap=column in whole)
        if isinstance(column, str)
        else column
        for column in columns
    ]
    table = Table(*headers, title=title, box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for row in rows:
        table.add_row(*(v if isinstance(v, Text) else cell(v, limit=200) for v in row))
    stdout.print(table)


def print_values(values: Mapping[str, object], limit: int = 500) -> None:
    """Print names and values, a line each; None is left blank."""
    for name, value in values.items():
        say(f"{name}: {'' if value is None else value}", limit)


def print_path(label: str, path: Path) -> None:
    """Print where something was written."""
    say(f"{label}: {path}", len(label) + len(str(path)) + 2)


def print_json(value: Any) -> None:
    """Print a value as indented JSON on standard output; what is hidden is escaped."""

    def plain(other: Any) -> Any:
        return asdict(other) if is_dataclass(other) and not isinstance(other, type) else str(other)

    text = json.dumps(value, default=plain, ensure_ascii=False, indent=2)
    stdout.print(JSONHighlighter()(Text(escaped_json(text))), soft_wrap=True)


def printed(value: Any, as_json: bool) -> bool:
    """Print a value if JSON is asked for; whether it is."""
    if as_json:
        print_json(value)
    return as_json


def system_user(option: str) -> str:
    """The name of this system's user. Raises ConfigurationError, which asks for `option`."""
    try:
        return getuser()
    except (KeyError, OSError):
        raise ConfigurationError(f"no user name is known: give {option}") from None


def interactive() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty()


def agree(question: str, deed: str, *, yes: bool) -> None:
    """Ask before what cannot be undone, unless `yes`; a "no" ends with exit code 1. Raises
    ConfigurationError where nobody can be asked.
    """
    if yes:
        return
    if not interactive():
        raise ConfigurationError(f"give --yes to {deed}")
    typer.confirm(one_line(question, 500), abort=True, err=True)
