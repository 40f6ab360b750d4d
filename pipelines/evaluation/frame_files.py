"""The table of answers as a file."""

from pathlib import Path
from typing import Final

import polars as pl

from radarstream.schemas.errors import ConfigurationError

FORMULA: Final = r"^[\s\x00]*[=+\-@\t\r\x{FF1D}\x{FF0B}\x{FF0D}\x{FF20}]"  # also full-width signs
NUMBER: Final = r"^[+\-]?\d+([.,]\d+)*%?$"


def write_table(frame: pl.DataFrame, path: Path) -> None:
    """Write Parquet or CSV, by the ending of the name; whole or not at all. Folders are made.

    In CSV, texts that a spreadsheet would run as formulas begin with an apostrophe.
    Raises ConfigurationError for another ending.
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
