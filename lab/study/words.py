"""What tables, pages and columns of studies say, as data (`words.toml`)."""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def words_of(kind: str) -> dict[str, Any]:
    """Of a kind of study, of a replay (`replay`) or of `models`: `notes` below tables, `words` that
    a page explains, `columns` of its table with their types and meanings.
    """
    text = files(__package__).joinpath("words.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)[kind]
    return found
