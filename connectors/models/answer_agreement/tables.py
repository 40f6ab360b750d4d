"""Word lists, patterns and rules of spelling: the data files here, each read when first used."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "data"
PARTS: Final[dict[str, str]] = {}  # of patterns, that modules make from tables
_REFERENCE = re.compile(r"<(@?[A-Za-z_]\w*)>")
_SPACE, _NOTHING = "\u2423", "\u2205"  # at the ends of a replacement, where editors strip blanks


@cache
def rows(name: str) -> tuple[list[str], ...]:
    """The cells of each row of a table; lines that begin with "# " are comments."""
    lines = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return tuple(line.split("\t") for line in lines if line and not line.startswith("# "))


@cache
def first_of(*tables: str) -> dict[str, str]:
    """The first cell of its row for each other cell of these tables."""
    return {other: first for table in tables for first, *others in rows(table) for other in others}


@cache
def _lists() -> dict[str, list[str]]:
    return {name: words.split() for name, words in rows("lists")}


@cache
def words(name: str) -> frozenset[str]:
    """All words of a list."""
    return frozenset(_lists()[name])


@cache
def in_order(name: str) -> tuple[str, ...]:
    """The words of a list in their order."""
    return tuple(_lists()[name])


@cache
def mapping(name: str) -> dict[str, str]:
    """A list of KEY=VALUE as a map, in its order."""
    return dict(entry.split("=") for entry in _lists()[name])


@cache
def _patterns() -> dict[str, str]:
    return dict(line.split(" = ", maxsplit=1) for (line,) in rows("patterns"))


@cache
def pattern_names(prefix: str) -> tuple[str, ...]:
    """Names of the patterns that begin with a prefix."""
    return tuple(name for name in _patterns() if name.startswith(prefix))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The pattern of that name, for letters of any case."""
    return re.compile(_part(name), re.IGNORECASE)


@cache
def _part(name: str) -> str:
    """A pattern as text, or the words of a list (@name) or keys of a map as alternatives."""
    if name.startswith("@"):
        listed = sorted((w.split("=")[0] for w in in_order(name[1:])), key=len, reverse=True)
        return "|".join(map(re.escape, listed))
    return _filled(PARTS.get(name) or _patterns()[name], {})


def _filled(text: str, known: Mapping[str, str]) -> str:
    """A pattern with the parts that it calls by name; groups keep their names in small letters."""

    def fill(match: re.Match[str]) -> str:
        name = match[1]
        named_group = name.islower() and not name.startswith("@")
        return match[0] if named_group else known.get(name) or _part(name)

    return _REFERENCE.sub(fill, text)


def filled_rows(table: str, at: int = 0) -> Iterator[list[str]]:
    """The rows of a table, each with the pattern in its cell number `at` filled.

    A row of one cell, `NAME = pattern`, is a part that later rows call `<NAME>`.
    """
    known = dict[str, str]()
    for row in rows(table):
        if len(row) == 1:
            name, _, known_part = row[0].partition(" = ")
            known[name] = _filled(known_part, known)
        else:
            yield [*row[:at], _filled(row[at], known), *row[at + 1 :]]


class Rules:
    """The rewriting rules of a table, each applied to what those before it have left.

    A row is a pattern and what it is replaced by. A replacement "@name argument" calls the function
    of that name in `functions` with the argument, if there is one, and the match.
    """

    def __init__(self, table: str, functions: Mapping[str, Callable[..., str]]) -> None:
        self._table, self._functions = table, functions

    @lru_cache(maxsize=65_536)  # noqa: B019  (rules are constants of their modules)
    def __call__(self, text: str) -> str:
        """The text with every rule applied."""
        for rule, spelt in self._compiled():
            if rule.search(text):  # a template costs more than a search
                text = rule.sub(spelt, text)
        return text

    @cache  # noqa: B019
    def _compiled(self) -> list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]:
        return [
            (re.compile(text, re.IGNORECASE), self._replacement(spelt))
            for text, spelt in filled_rows(self._table)
        ]

    def _replacement(self, spelt: str) -> str | Callable[[re.Match[str]], str]:
        if spelt.startswith("@"):
            name, *arguments = spelt[1:].split(maxsplit=1)
            return partial(self._functions[name], *arguments)
        return spelt.replace(_SPACE, " ").replace(_NOTHING, "")
