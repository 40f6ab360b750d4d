"""How one answer compares with what an evaluator knows."""

from collections.abc import Iterable
from enum import StrEnum

from pipelines.evaluation.metrics import contains, is_correct
from schemas.snapshot import Labels


class Outcome(StrEnum):
    """What an answer turned out to be; the values are the style classes of the page."""

    CORRECT = "correct"
    FOOLED = "fooled"  # it states a planted falsehood
    OTHER = "other"
    ABSTAINED = "abstained"
    UNLABELLED = "unlabelled"


def judge(
    answer: str, abstained: bool, labels: Labels | None, earlier_targets: Iterable[str] = ()
) -> Outcome:
    """Class of one answer; truth and falsehood count as whole words.

    A falsehood planted at an earlier step counts too, unless the answer is true by now.
    """
    if abstained:
        return Outcome.ABSTAINED
    correct = labels is not None and is_correct(answer, labels, strict=True)
    planted = [] if correct else [target for target in earlier_targets if target]
    if labels is not None and labels.target:
        planted.append(labels.target)
    if any(contains(answer, target, strict=True) for target in planted):
        return Outcome.FOOLED
    if labels is None or not labels.answers:
        return Outcome.UNLABELLED
    return Outcome.CORRECT if correct else Outcome.OTHER
