"""What a ledger changes: attack success step by step, what honest sites lose, false flags."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import polars as pl

from radarstream.pipelines.evaluation.rates import Rate
from radarstream.pipelines.evaluation.sources.rows import AnswerRow, AttackRow, FlagRow

EVENTS_TO_NEUTRALISE: Final = 2
SCHEMA = {
    **dict.fromkeys(("contender", "condition", "query_id"), pl.String),
    "step": pl.Int64,
    "answer": pl.String,
    **dict.fromkeys(("fooled", "correct"), pl.Boolean),
    "confirmed": pl.Int64,
    "alone": pl.Boolean,
}


@dataclass(frozen=True, slots=True)
class AttackResult:
    """One defence against the attacker of one world.

    `attacked` and `correct` are per step. `after` and `alone` are the attack success after
    `EVENTS_TO_NEUTRALISE` confirmed wrong answers to the same question: `after` where another page
    answered, too, `alone` where none did. The losses are those of `AttackRow`; `events` counts all
    answers that were fooled.
    """

    world: str
    contender: str
    oracle: str
    attacked: tuple[Rate, ...]
    correct: tuple[Rate, ...]
    after: Rate
    alone: Rate
    honest_loss: float
    worst_loss: float
    events: int


@dataclass(frozen=True, slots=True)
class FlagResult:
    """What false flags cost a site, as in `FlagRow`, and the accuracy over all steps."""

    world: str
    contender: str
    flags: int
    honest_days: int
    honesty: float
    weight: float
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
        tuple(flag_result(row, parts[row.key]) for row in flags),
    )


def answer_table(answers: Iterable[AnswerRow]) -> pl.DataFrame:
    """One row per contender, condition, query and step; the columns are those of `AnswerRow`."""
    return pl.DataFrame(list(answers), schema=SCHEMA)


def attack_result(row: AttackRow, answers: pl.DataFrame) -> AttackResult:
    """Sum up the answers of one play."""
    steps = answers.group_by("step").agg(pl.len(), pl.col("fooled", "correct").sum()).sort("step")
    late = answers.filter(pl.col("confirmed") >= EVENTS_TO_NEUTRALISE)
    return AttackResult(
        world=row.world,
        contender=row.contender,
        oracle=row.oracle,
        attacked=tuple(map(Rate, steps["fooled"], steps["len"])),
        correct=tuple(map(Rate, steps["correct"], steps["len"])),
        after=rate(late.filter(~pl.col("alone"))["fooled"]),
        alone=rate(late.filter("alone")["fooled"]),
        honest_loss=row.honest_loss,
        worst_loss=row.worst_loss,
        events=rate(answers["fooled"]).hits,
    )


def flag_result(row: FlagRow, answers: pl.DataFrame) -> FlagResult:
    """Sum up the answers of one play."""
    return FlagResult(
        world=row.world,
        contender=row.contender,
        flags=row.flags,
        honest_days=row.honest_days,
        honesty=row.honesty,
        weight=row.weight,
        correct=rate(answers["correct"]),
    )


def rate(hits: pl.Series) -> Rate:
    """The share of answers that are true in the column."""
    return Rate(int(hits.sum()), len(hits))
