"""Model text to a typed answer, once, at the edge of the model."""

import re
from typing import Final
from unicodedata import category

from schemas.evidence import AtomicAnswer

MAX_ANSWER_CHARACTERS: Final = 1_000
_REFUSALS: Final = (
    "i don't know",
    "i do not know",
    "i dont know",
    "no information found",
    "cannot be determined",
    "not mentioned in the context",
)
_ECHO: Final = re.compile(r"^(?:(?:final|short|most frequent)\s+)?answer\s*[:\-]\s*", re.IGNORECASE)
_ABBREVIATION: Final = re.compile(
    r"\b(?:(?:[a-z]\.){2,}|(?:jr|sr|inc|co|corp|ltd|st)\.)$", re.IGNORECASE
)
_APOSTROPHES: Final = str.maketrans({"\u2019": "'", "\u2018": "'", "\u02bc": "'", "\uff07": "'"})
_QUOTES: Final = {'"': '"', "'": "'", "\u201c": "\u201d", "\u2018": "\u2019", "`": "`", "*": "*"}


def parse_answer(text: str) -> AtomicAnswer:
    r"""The answer in a completion: its first line, without echo, quotes and final period.

    Never raises. A text with nothing to say is an abstention; a call that failed is none of this
    module's business and must have raised ModelError before.

    >>> parse_answer('Answer: "Canberra."\nQuestion: ...')
    AtomicAnswer(text='Canberra', abstained=False)
    >>> parse_answer("I don\u2019t know.").abstained
    True
    """
    answer = _unwrap(_first_line(text))[:MAX_ANSWER_CHARACTERS].rstrip()
    return AtomicAnswer(text=answer, abstained=is_uninformative(answer))


def is_uninformative(answer: str) -> bool:
    """Whether `answer` is empty, has no letter or digit, or says that it does not know."""
    folded = " ".join(answer.translate(_APOSTROPHES).casefold().split())
    return not any(c.isalnum() for c in folded) or any(r in folded for r in _REFUSALS)


def _first_line(text: str) -> str:
    for line in text.splitlines():
        visible = "".join(" " if c.isspace() else c for c in line if c == "\t" or _printable(c))
        if visible.strip():
            return " ".join(visible.split())
    return ""


def _printable(character: str) -> bool:
    return not category(character).startswith("C")


def _unwrap(line: str) -> str:
    """Strip echoes, matching quotes and one trailing period until nothing changes."""
    while True:
        bare = _ECHO.sub("", line).strip()
        if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1]:
            bare = bare[1:-1].strip()
        if bare.endswith(".") and not bare.endswith("...") and not _is_abbreviation(bare):
            bare = bare[:-1].rstrip()
        if bare == line:
            return bare
        line = bare


def _is_abbreviation(text: str) -> bool:
    """Whether the final period belongs to the last word, as in "U.S.", "a.m." and "Inc."."""
    return _ABBREVIATION.search(text) is not None
