"""How one answer compares with what an evaluator knows."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from unicodedata import normalize

from schemas.snapshot import Labels


class Outcome(StrEnum):
    """What an answer turned out to be; the values are the style classes of the page."""

    CORRECT = "correct"
    FOOLED = "fooled"  # it states a planted falsehood
    OTHER = "other"
    ABSTAINED = "abstained"
    UNLABELLED = "unlabelled"


@dataclass(frozen=True, slots=True)
class Rate:
    """`hits` out of `total` answers."""

    hits: int
    total: int

    @property
    def percent(self) -> float | None:
        """Per cent, or None where nothing was counted."""
        return 100 * self.hits / self.total if self.total else None


def mentions(text: str, phrase: str) -> bool:
    """Whether `phrase` occurs in `text` as whole words, ignoring case and punctuation.

    >>> mentions("It was Dr. Ana Ruiz.", "ana ruiz"), mentions("in 2016", "1")
    (True, False)
    """
    wanted = _words(phrase)
    return bool(wanted.strip()) and wanted in _words(text)


def _words(text: str) -> str:
    words = re.findall(r"[^\W_]+", normalize("NFKC", text).casefold())
    return f" {' '.join(words)} "


def is_correct(answer: str, labels: Labels) -> bool:
    """Whether `answer` states the true answer, or all of them where all are required."""
    quantifier = all if labels.all_answers_required else any
    return bool(labels.answers) and quantifier(mentions(answer, truth) for truth in labels.answers)


def judge(
    answer: str, abstained: bool, labels: Labels | None, earlier_targets: Iterable[str] = ()
) -> Outcome:
    """Class of one answer.

    A falsehood planted at an earlier step counts too, unless the answer is true by now.
    """
    if abstained:
        return Outcome.ABSTAINED
    correct = labels is not None and is_correct(answer, labels)
    planted = [] if correct else [target for target in earlier_targets if target]
    if labels is not None and labels.target:
        planted.append(labels.target)
    if any(mentions(answer, target) for target in planted):
        return Outcome.FOOLED
    if labels is None or not labels.answers:
        return Outcome.UNLABELLED
    return Outcome.CORRECT if correct else Outcome.OTHER
