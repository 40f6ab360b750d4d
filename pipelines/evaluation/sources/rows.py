"""What a study of the source ledger writes down: every answer, and one row per play.

A *play* is one contender on all histories of a world, from the first step to the last, with a
ledger of its own. A play whose row is missing is played again.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from radarstream.pipelines.evaluation.study.rows import StudyRow


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRow(StudyRow):
    """One answer. `confirmed` counts the wrong answers to this question that were confirmed before
    it, `alone` says that only the attacker's page answered anything.
    """

    answer: str
    fooled: bool
    correct: bool
    confirmed: int = 0
    alone: bool = False


@dataclass(frozen=True, slots=True)
class PlayRow:
    """A play by the contender and what it meets; `condition` names the world and what happens in
    it. No play has an error: one that fails ends the run.
    """

    error: ClassVar[None] = None

    contender: str
    condition: str

    @property
    def key(self) -> tuple[str, str]:
        """What tells a play from all others."""
        return self.contender, self.condition

    @property
    def author(self) -> str:
        """Whose code computed the row."""
        return self.contender


@dataclass(frozen=True, slots=True)
class AttackRow(PlayRow):
    """A play against the attacker of a world, whose hits an oracle confirms.

    `honest_loss` is the mean, `worst_loss` the largest share of its weight that an honest site lost
    by the end; a weight is 1 minus the distrust.
    """

    world: str
    oracle: str
    honest_loss: float
    worst_loss: float


@dataclass(frozen=True, slots=True)
class FlagRow(PlayRow):
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
