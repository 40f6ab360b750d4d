"""What a ledger changes: attack success step by step, what honest sites lose, false flags."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Final, get_type_hints

import polars as pl

from radarstream.pipelines.evaluation.rates import Rate
from radarstream.pipelines.evaluation.sources.rows import AnswerRow, AttackRow, FlagRow

EVENTS_TO_NEUTRALISE: Final = 2


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
    answers: Iterable[AnswerRow], attacks: Sequence[AttackRow], flags: Sequence[FlagRow]
) -> Results:
    """Sum up every play, in the order given."""
    parts = answer_table(answers).partition_by("contender", "condition", as_dict=True)
    return Results(
        tuple(attack_result(row, parts[row.key]) for row in attacks),
        tuple(FlagResult(**asdict(r), correct=rate(parts[r.key]["correct"])) for r in flags),
    )


def answer_table(answers: Iterable[AnswerRow]) -> pl.DataFrame:
    """One row per contender, condition, query and step; the columns are those of `AnswerRow`."""
    return pl.DataFrame(list(answers), schema=get_type_hints(AnswerRow))


def attack_result(row: AttackRow, answers: pl.DataFrame) -> AttackResult:
    """Sum up the answers of one play."""
    steps = answers.group_by("step").agg(pl.len(), pl.col("fooled", "correct").sum()).sort("step")
    late = answers.filter(pl.col("confirmed") >= EVENTS_TO_NEUTRALISE)
    return AttackResult(
        **asdict(row),
        attacked=tuple(map(Rate, steps["fooled"], steps["len"])),
        correct=tuple(map(Rate, steps["correct"], steps["len"])),
        after=rate(late.filter(~pl.col("alone"))["fooled"]),
        alone=rate(late.filter("alone")["fooled"]),
        events=rate(answers["fooled"]).hits,
    )


def rate(hits: pl.Series) -> Rate:
    """The share of answers that are true in the column."""
    return Rate(int(hits.sum()), len(hits))
