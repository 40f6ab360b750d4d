"""Tables of text that a terminal, Markdown and HTML show alike, and how numbers are written.

Names of contenders and messages of errors are text of others: whoever shows a table escapes it for
the place.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from radarstream.lab.study.rates import Rate
from radarstream.schemas.shown import only_shown

NOTHING = "-"
_SPECIAL = re.compile(r"[\\`*<>|#~]|(?<=\])\(|(?<!\w)_|_(?!\w)")
_FEW = 100  # trials up to which a percent is at least one answer


@dataclass(frozen=True, slots=True)
class TableCell:
    """`text` is what to read first, `detail` (an interval, a count) may be set smaller or below.
    `value` is the first number of the text as it was measured, for whoever sorts or colours.
    """

    text: str
    detail: str = ""
    value: float | None = None

    def __str__(self) -> str:
        return f"{self.text} {self.detail}".rstrip()


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row and its heading; `reference` marks the contender that others are compared with."""

    heading: str
    cells: tuple[TableCell, ...]
    reference: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """`columns` head the cells, `corner` the headings; `notes` say what the numbers mean."""

    key: str
    title: str
    corner: str
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()


def markdown(table: Table, shown: Callable[[str], str]) -> str:
    """The table as GitHub-flavoured Markdown with its notes below; `shown` escapes a text."""
    lines = [[table.corner, *table.columns], [":--", *["--:"] * len(table.columns)]]
    lines += [[row.heading, *map(str, row.cells)] for row in table.rows]
    body = "\n".join("| " + " | ".join(map(shown, line)) + " |" for line in lines)
    notes = "".join(f"\n{shown(note)}\n" for note in table.notes)
    return f"### {shown(table.title)}\n\n{body}\n{notes}"


def percent(rate: Rate) -> str:
    """A share, without the sign; a decimal where there are enough trials for one."""
    value = rate.value
    return NOTHING if value is None else f"{100 * value:.{digits(rate.trials)}f}"


def points(value: float | None, trials: int) -> str:
    """A difference of shares in signed percentage points."""
    return NOTHING if value is None else f"{100 * value:+.{digits(trials)}f}"


def digits(trials: int) -> int:
    """Decimals that a percent of so many trials deserves."""
    return 0 if trials <= _FEW else 1


def number(value: float | None, decimals: int, sign: str = "") -> str:
    """A quantity, or with the sign "+" a change; a dash where it is not known."""
    return NOTHING if value is None else f"{value:{sign}.{decimals}f}"


def escaped(text: str) -> str:
    r"""Text that Markdown shows as it is, on one line: no links, code, emphasis or HTML.

    >>> escaped("a|b <i> `c`")
    'a\\|b \\<i\\> \\`c\\`'
    """
    plain = " ".join(only_shown(text, " ").split())
    return _SPECIAL.sub(r"\\\g<0>", plain)
