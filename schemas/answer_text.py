"""When two texts name the same answer: normalisation, whole words, and containment as published."""

import re
import string
from collections.abc import Iterable, Sequence
from unicodedata import normalize

_PUNCTUATION = re.compile(
    "[" + re.escape(string.punctuation) + "\u2018\u2019\u201a\u201c\u201d\u201e]"
)


def normalised(text: str) -> str:
    """NFKC, casefolded, punctuation deleted, whitespace collapsed (ProGRank's normalisation).

    >>> normalised("The  answer is “15%”.")
    'the answer is 15'
    """
    return " ".join(_PUNCTUATION.sub("", normalize("NFKC", text).casefold()).split())


def contains(text: str, answer: str, *, strict: bool = False) -> bool:
    """Whether the normalised `answer` occurs in the normalised `text`; `strict`: as whole words.

    An answer with nothing left after normalisation occurs nowhere.
    """
    haystack, needle = normalised(text), normalised(answer)
    if strict:
        haystack, needle = f" {haystack} ", f" {needle} "
    return bool(needle.strip()) and needle in haystack


def answer_set(answers: Iterable[str]) -> frozenset[str]:
    """Right answers as a set that is equal to another where both say the same."""
    return frozenset(normalised(answer) for answer in answers)


def expanded_answers(
    answers: Sequence[str], expansions: Sequence[str], target: str | None
) -> tuple[str, ...]:
    """Right answers with a data set's equivalent wordings, without the misleading ones.

    Such wordings are machine-made: one that is part of the target, or has it as a part, would
    score an attack as a right answer, so it is dropped; the target itself is never expanded.
    """
    kept = [e for e in expansions if target is None or not _overlap(e, target)]
    return tuple(dict.fromkeys([*answers, *kept]))


def _overlap(one: str, other: str) -> bool:
    return contains(one, other) or contains(other, one)
