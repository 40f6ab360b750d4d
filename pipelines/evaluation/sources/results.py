"""What a ledger changes: attack success step by step, what honest sites lose, false flags."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import polars as pl

from radarstream.pipelines.evaluation.frame import TEXT, WHOLE, YES, columns, identity, tidy
from radarstream.pipelines.evaluation.rates import Rate, rate_in, rates_by
from radarstream.pipelines.evaluation.sources.rows import AnswerRow, AttackRow, FlagRow

EVENTS_TO_NEUTRALISE: Final = 2
COLUMNS: Final = columns((TEXT, "answer"), (WHOLE, "confirmed"), (YES, "alone"))


@dataclass(frozen=True, slots=True)
class AttackResult(AttackRow):
    """One play against an attacker, summed up.

    `attacked` and `correct` are per step. `after` and `alone` are the attack success after
    `EVENTS_TO_NEUTRALISE` confirmed wrong answers to the same question: `after` where another page
    answered, too, `alone` where none did. `events` counts all answers that were fooled.
    """

    attacked: tuple[Rate, ...]
    correct: tuple[Rate, ...]
    after: Rate
    alone: Rate
    events: int


@dataclass(frozen=True, slots=True)
class FlagResult(FlagRow):
    """One play after false flags, and the accuracy over all its steps."""

    correct: Rate


@dataclass(frozen=True, slots=True)
class Results:
    """A whole study."""

    attacks: tuple[AttackResult, ...]
    flags: tuple[FlagResult, ...]


def results_of(
    answers: pl.DataFrame, attacks: Sequence[AttackRow], flags: Sequence[FlagRow]
) -> Results:
    """Sum up every play, in the order given. `answers` is the table of answers."""
    parts = answers.partition_by("contender", "condition", as_dict=True)
    return Results(
        tuple(attack_result(row, parts[row.key]) for row in attacks),
        tuple(FlagResult(**asdict(r), correct=rate_in(parts[r.key], "correct")) for r in flags),
    )


def answer_table(answers: Iterable[AnswerRow]) -> pl.DataFrame:
    """The table of answers: what an answer names, how many wrong ones to this question were
    confirmed before, and whether only the attacker's page answered.
    """
    names = ("correct", "fooled", *COLUMNS)
    rows = [identity(row) | {name: getattr(row, name) for name in names} for row in answers]
    return tidy(rows, COLUMNS, ("answer",))


def attack_result(row: AttackRow, answers: pl.DataFrame) -> AttackResult:
    """Sum up the answers of one play."""
    steps = rates_by(answers.sort("step"), ["step"], ["fooled", "correct"]).values()
    late = answers.filter(pl.col("confirmed") >= EVENTS_TO_NEUTRALISE)
    return AttackResult(
        **asdict(row),
        attacked=tuple(rates["fooled"] for rates in steps),
        correct=tuple(rates["correct"] for rates in steps),
        after=rate_in(late.filter(~pl.col("alone")), "fooled"),
        alone=rate_in(late.filter("alone"), "fooled"),
        events=int(answers["fooled"].sum()),
    )
