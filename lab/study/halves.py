"""The development half and the test half of every data set, decided by the question alone.

A question is in the development half if the last bit of its digest is 0, else in the test half.
Studies of rerankers divide the questions once more, as ProGRank does: thresholds are fitted on a
fifth of them, the tuning split, where the digest is divisible by 5.
"""

from collections.abc import Iterable
from enum import StrEnum
from hashlib import sha256
from typing import Final

from radarstream.lab.study.datasets import History
from radarstream.schemas.wording import counted_noun

TUNING_PARTS: Final = 5  # one part of so many is for tuning


class Half(StrEnum):
    """Which questions of a data set are asked."""

    DEVELOPMENT = "development"
    TEST = "test"
    ALL = "all"

    def holds(self, question: str) -> bool:
        """Whether a question, by its text, is asked."""
        return self is Half.ALL or (self is Half.TEST) == bool(question_digest(question) & 1)

    def described(self, questions: int) -> str:
        """What was asked, in words.

        >>> Half.TEST.described(24), Half.ALL.described(1)
        ('test half, 24 questions', 'both halves, 1 question')
        """
        name = "both halves" if self is Half.ALL else f"{self} half"
        return f"{name}, {counted_noun(questions, 'question')}"


class Split(StrEnum):
    """Which questions of a study of rerankers are asked: those that thresholds are fitted on, the
    others, or all.
    """

    TUNING = "tuning"
    TEST = "test"
    ALL = "all"

    def holds(self, question: str) -> bool:
        """Whether a question, by its text, is asked.

        >>> Split.TUNING.holds("What is the capital of Peru?")
        False
        """
        tuning = question_digest(question) % TUNING_PARTS == 0
        return self is Split.ALL or (self is Split.TUNING) == tuning


def question_digest(question: str) -> int:
    """SHA-256 of a question without its case and spacing.

    >>> question_digest(" Who  is it? ") == question_digest("who is IT?")
    True
    """
    plain = " ".join(question.casefold().split())
    return int.from_bytes(sha256(plain.encode("utf-8", "surrogatepass")).digest())


def in_half(histories: Iterable[History], half: Half) -> tuple[History, ...]:
    """The histories whose question is asked."""
    return tuple(history for history in histories if half.holds(history[0].query.text))
