"""How often the true answers of a set of questions change (RADAR, Table 18)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pipelines.evaluation.metrics import Rate, normalised


@dataclass(frozen=True, slots=True)
class AnswerChanges:
    """Shares of questions by number of changes, and of adjacent available years that differ.

    `once` is exactly one change; published tables count "one change" as at least one.
    """

    never: Rate
    at_least_once: Rate
    once: Rate
    more_than_once: Rate
    adjacent_years: Rate


def answer_changes(questions: Iterable[Sequence[Iterable[str]]]) -> AnswerChanges:
    """Statistics of questions, each the answer sets of its years in chronological order.

    Answers compare as sets after normalisation; missing years are skipped over.
    """
    histories = [
        [frozenset(normalised(answer) for answer in answers) for answers in years]
        for years in questions
    ]
    counts = [sum(a != b for a, b in pairwise(history)) for history in histories]
    total = len(counts)
    return AnswerChanges(
        never=Rate(sum(count == 0 for count in counts), total),
        at_least_once=Rate(sum(count >= 1 for count in counts), total),
        once=Rate(sum(count == 1 for count in counts), total),
        more_than_once=Rate(sum(count >= 2 for count in counts), total),
        adjacent_years=Rate(sum(counts), sum(max(0, len(h) - 1) for h in histories)),
    )
