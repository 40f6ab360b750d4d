"""The tables of a study of the ledger."""

from collections.abc import Sequence
from typing import Final

from radarstream.pipelines.evaluation.rates import Rate
from radarstream.pipelines.evaluation.sources.plays import HONEST_DAYS
from radarstream.pipelines.evaluation.sources.results import (
    EVENTS_TO_NEUTRALISE,
    AttackResult,
    FlagResult,
    Results,
)
from radarstream.pipelines.evaluation.table import (
    NOTHING,
    Table,
    TableCell,
    TableRow,
    percent,
)

ATTACK_NOTES: Final = (
    "Attack success (whole words) in percent of the questions at each step; the attacker's page "
    "is at rank 1 of every step, and every hit is confirmed before the next step.",
    f"After {EVENTS_TO_NEUTRALISE}: hits of all answers that followed {EVENTS_TO_NEUTRALISE} "
    "confirmed events of the same question, where another page answered, too; alone: where the "
    "attacker's page was the only one that answered anything.",
    "Lost: what other sites lost of their weight (1 minus distrust) by the last step, mean and "
    "largest. An oracle that is mistaken blames every other page of a hit by lot.",
)
FLAG_NOTES: Final = (
    "False flags, each confirmed, one a day, on the site that is right most often; no attacker. "
    "Weight is 1 minus distrust right after the last flag; accuracy (whole words) in percent of "
    "all answers with the ledger.",
    f"With a past: {HONEST_DAYS} days of agreement before, at the cap of a day.",
)


def tables_of(_: object, results: Results) -> tuple[Table, ...]:
    """Attack success, accuracy and false flags, world by world."""
    worlds = list(dict.fromkeys(result.world for result in results.attacks))
    tables = []
    for number, world in enumerate(worlds, start=1):
        attacks = [r for r in results.attacks if r.world == world]
        flags = [r for r in results.flags if r.world == world]
        tables += [attack_table(world, attacks, number), flag_table(world, flags, number)]
    return tuple(tables)


def attack_table(world: str, results: Sequence[AttackResult], number: int) -> Table:
    """One row per contender and oracle."""
    steps = len(results[0].attacked)
    after = f"after {EVENTS_TO_NEUTRALISE}"
    rows = [
        TableRow(
            f"{r.contender}, {r.oracle}",
            (
                *(TableCell(percent(rate), value=rate.value) for rate in r.attacked),
                counted(r.after),
                counted(r.alone),
                accuracy(r.correct),
                TableCell(f"{100 * r.honest_loss:.1f}", f"/ {100 * r.worst_loss:.0f}"),
            ),
        )
        for r in results
    ]
    columns = (*(f"t={t}" for t in range(steps)), after, "alone", "accuracy", "lost %")
    return Table(
        f"attack_{number}",
        f"{world}: attack success",
        "defence",
        columns,
        tuple(rows),
        ATTACK_NOTES,
    )


def flag_table(world: str, results: Sequence[FlagResult], number: int) -> Table:
    """One row per number of flags, without and with a past."""
    several = len({r.contender for r in results}) > 1
    rows = [
        TableRow(
            f"{r.flags} flags, {'with a past' if r.honest_days else 'unknown before'}"
            + (f", {r.contender}" if several else ""),
            (
                TableCell(f"{r.honesty:.2f}", value=r.honesty),
                TableCell(f"{r.weight:.2f}", value=r.weight),
                TableCell(percent(r.correct), value=r.correct.value),
            ),
        )
        for r in results
    ]
    columns = ("reliability", "weight", "accuracy")
    return Table(
        f"flags_{number}", f"{world}: false flags", "site", columns, tuple(rows), FLAG_NOTES
    )


def counted(rate: Rate) -> TableCell:
    """Hits of trials."""
    text = f"{rate.hits}/{rate.trials}" if rate.trials else NOTHING
    return TableCell(text, value=rate.value)


def accuracy(rates: Sequence[Rate]) -> TableCell:
    """The accuracy over all steps."""
    total = Rate(sum(r.hits for r in rates), sum(r.trials for r in rates))
    return TableCell(percent(total), value=total.value)
