"""The table of a study: one tidy row per contender, condition, question and step.

Every rate, interval, test, plot and page is computed from such a table. A value is null where a
column does not apply. All studies have the columns that `words.toml` explains under `study`, and
what it cost: the fields of `Cost`, and `seconds` in all. Each kind adds its own.
"""

import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import polars as pl

from radarstream.lab.study.rows import COST, StudyRow
from radarstream.schemas.codec.text import clean
from radarstream.schemas.errors import ConfigurationError

TEXT, WHOLE, REAL, YES = pl.String(), pl.Int64(), pl.Float64(), pl.Boolean()
TYPES: Final[Mapping[str, pl.DataType]] = {
    "text": TEXT, "whole": WHOLE, "real": REAL, "yes": YES, "texts": pl.List(TEXT),
    "wholes": pl.List(WHOLE), "moment": pl.Datetime("us", "UTC"),
}  # fmt: skip
Columns = Mapping[str, pl.DataType]
Values = dict[str, Any]


@cache
def words_of(kind: str) -> dict[str, Any]:
    """What `words.toml` says of a kind of study, of a replay (`replay`) or of `models`: `notes`
    below tables, `words` that a page explains, `columns` of its table with types and meanings.
    """
    text = files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)[kind]
    return found


def columns_of(kind: str) -> dict[str, pl.DataType]:
    """The columns that the table of a kind of study has of its own, with their types."""
    return {name: TYPES[of_type] for name, (of_type, _) in words_of(kind)["columns"].items()}


TIDY: Final[Columns] = {
    **columns_of("study"),
    **{name: REAL if name.endswith("seconds") else WHOLE for name in COST},
}
FORMULA: Final = r"^[\s\x00]*[=+\-@\t\r\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"  # also full-width signs
NUMBER: Final = r"^[+\-]?\d+([.,]\d+)*%?$"


def tidy(
    rows: Sequence[Values], more: Columns, free_text: Collection[str] = ("error",)
) -> pl.DataFrame:
    """A table of the columns in `TIDY` and of those a kind adds, whatever else the rows hold.
    Columns of `free_text` are cleaned of characters that no file can hold.
    """
    for row in rows:
        row |= {name: clean(row[name]) for name in free_text if row.get(name)}
    return pl.DataFrame(rows, schema={**TIDY, **more})


def identity(row: StudyRow) -> Values:
    """Which row it is, whether it failed, and what it cost."""
    names = ("contender", "condition", "query_id", "step", "error")
    return {name: getattr(row, name) for name in names} | row.cost.columns


def mean_of_all(name: str) -> pl.Expr:
    """The mean of a column; null where a value is not known."""
    return pl.when(pl.col(name).null_count() == 0).then(pl.col(name).mean()).alias(name)


def pooled(means: Iterable[tuple[Mapping[str, float | None], int]]) -> dict[str, float | None]:
    """The mean of means, each of so many rows, by name; None where one is not known."""
    held = [(mean, count) for mean, count in means if count]
    total = sum(count for _, count in held)
    found: dict[str, float | None] = {}
    for name in held[0][0] if held else ():
        weighted = [(value, n) for mean, n in held if (value := mean[name]) is not None]
        known = len(weighted) == len(held)
        found[name] = sum(value * n for value, n in weighted) / total if known else None
    return found


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write Parquet or CSV, by the ending of the name; whole or not at all. Folders are made. In
    CSV, texts that a spreadsheet would run as formulas begin with an apostrophe. Raises
    ConfigurationError for another ending.
    """
    check_table(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    if path.suffix == ".parquet":
        frame.write_parquet(partial)
    else:
        lists = pl.selectors.by_dtype(pl.List(pl.Int64), pl.List(pl.String))
        flat = frame.with_columns(lists.cast(pl.List(pl.String)).list.join(" | "))
        texts = pl.selectors.string()
        formula = texts.str.contains(FORMULA) & ~texts.str.contains(NUMBER)
        harmless = pl.when(formula).then("'" + texts).otherwise(texts).name.keep()
        flat.with_columns(harmless).write_csv(partial)
    partial.replace(path)


def check_table(path: Path) -> None:
    """Raise ConfigurationError for a name that says neither Parquet nor CSV."""
    if path.suffix not in (".parquet", ".csv"):
        raise ConfigurationError(f"{path}: a table is written as .parquet or .csv")
