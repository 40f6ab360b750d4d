"""What a study of the source ledger writes down: every answer, and one row per play.

A *play* is one contender on all histories of a world, from the first step to the last, with a
ledger of its own. A play whose row is missing is played again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SourceRow:
    """What every row holds; `condition` names the world and what happens in it."""

    contender: str
    condition: str

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells a play from all others."""
        return self.contender, self.condition

    @property
    def author(self) -> str:
        """Whose code computed the row."""
        return self.contender

    @property
    def error(self) -> None:
        """No row has one: a play that fails ends the run."""
        return


@dataclass(frozen=True, slots=True)
class AnswerRow(SourceRow):
    """One answer. `confirmed` counts the wrong answers to this question that were confirmed before
    it, `alone` says that only the attacker's page answered anything.
    """

    query_id: str
    step: int
    answer: str
    fooled: bool
    correct: bool
    confirmed: int = 0
    alone: bool = False

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells an answer from all others."""
        return self.contender, self.condition, self.query_id, self.step


@dataclass(frozen=True, slots=True)
class AttackRow(SourceRow):
    """A play against the attacker of a world, whose hits an oracle confirms.

    `honest_loss` is the mean, `worst_loss` the largest share of its weight that an honest site lost
    by the end; a weight is 1 minus the distrust.
    """

    world: str
    oracle: str
    honest_loss: float
    worst_loss: float


@dataclass(frozen=True, slots=True)
class FlagRow(SourceRow):
    """A play without an attacker, after false flags on the site that is right most often.

    The site was flagged `flags` times, after `honest_days` days of agreement; `honesty` and
    `weight` are what it had right after the last flag.
    """

    world: str
    flags: int
    honest_days: int
    honesty: float
    weight: float


FILES: Mapping[type[Any], str] = {
    AnswerRow: "rows.jsonl",
    AttackRow: "attacks.jsonl",
    FlagRow: "flags.jsonl",
}
