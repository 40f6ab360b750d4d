"""Word lists, patterns and rules of spelling: the data files here, each read when first used."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parent / "data"
_REFERENCE = re.compile(r"<(@?[A-Za-z_]\w*)>")
_SPACE, _NOTHING = "\u2423", "\u2205"  # at the ends of a replacement, where editors strip blanks


@cache
def rows(name: str) -> tuple[list[str], ...]:
    """The cells of each row of a table; lines that begin with "# " are comments."""
    lines = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    return tuple(line.split("\t") for line in lines if line and not line.startswith("# "))


def _patterns(table: str) -> dict[str, str]:
    """The rows `NAME = pattern` of a table."""
    named = (row[0].partition(" = ") for row in rows(table) if len(row) == 1)
    return {name: text for name, _, text in named}


# The patterns by name: of the table "patterns", and of each other table once it is read.
PATTERNS: Final = _patterns("patterns")


@cache
def first_of(*tables: str) -> dict[str, str]:
    """The first cell of its row for each other cell of these tables."""
    return {other: first for table in tables for first, *others in rows(table) for other in others}


@cache
def mapping(name: str) -> dict[str, str]:
    """The entries KEY=VALUE of a list in their order; a word alone has an empty value."""
    entries = next(entries for listed, entries in rows("lists") if listed == name).split()
    return {key: value for key, _, value in (entry.partition("=") for entry in entries)}


@cache
def words(name: str) -> frozenset[str]:
    """All words of a list."""
    return frozenset(mapping(name))


@cache
def pattern_names(prefix: str) -> tuple[str, ...]:
    """Names of the patterns that begin with a prefix."""
    return tuple(name for name in PATTERNS if name.startswith(prefix))


@cache
def pattern(name: str) -> re.Pattern[str]:
    """The pattern of that name, for letters of any case."""
    return re.compile(_filled(PATTERNS[name]), re.IGNORECASE)


def _filled(text: str) -> str:
    """A pattern with those that it calls: `<NAME>`, or `<@name>` for the words of a list."""

    def fill(call: re.Match[str]) -> str:
        name = call[1]
        if name.startswith("@"):
            return "|".join(map(re.escape, sorted(mapping(name[1:]), key=len, reverse=True)))
        return call[0] if name.islower() else _filled(PATTERNS[name])  # (?P<name>...)

    return _REFERENCE.sub(fill, text)


def filled_rows(table: str, at: int = 0) -> Iterator[list[str]]:
    """The rows of a table, each with the pattern in its cell number `at` filled.

    A row of one cell, `NAME = pattern`, is a pattern that others call.
    """
    PATTERNS.update(_patterns(table))
    return ([*row[:at], _filled(row[at]), *row[at + 1 :]] for row in rows(table) if row[1:])


def rewriting(table: str, functions: Mapping[str, Callable[..., str]]) -> Callable[[str], str]:
    """The function that applies each rule of a table to what the rules before it have left.

    A row is a pattern and what it is replaced by. A replacement "@name argument" calls the function
    of that name in `functions` with the argument, if there is one, and the match.
    """

    def replacement(spelt: str) -> str | Callable[[re.Match[str]], str]:
        if spelt.startswith("@"):
            name, *arguments = spelt[1:].split(maxsplit=1)
            return partial(functions[name], *arguments)
        return spelt.replace(_SPACE, " ").replace(_NOTHING, "")

    @cache
    def rules() -> list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]]:
        compiled = ((re.compile(text, re.IGNORECASE), spelt) for text, spelt in filled_rows(table))
        return [(rule, replacement(spelt)) for rule, spelt in compiled]

    @lru_cache(maxsize=65_536)
    def rewrite(text: str) -> str:
        for rule, spelt in rules():
            if rule.search(text):  # a template costs more than a search
                text = rule.sub(spelt, text)
        return text

    return rewrite
