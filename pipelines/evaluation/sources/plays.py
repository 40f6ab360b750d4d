"""The plays of a study: against an attacker, and after false flags on an honest site."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from radarstream.defenses.kernels.honesty import distrust
from radarstream.pipelines.evaluation.datasets import History
from radarstream.pipelines.evaluation.scoring import is_correct
from radarstream.pipelines.evaluation.sources.playing import Contender, Oracle, Played, Stage
from radarstream.pipelines.evaluation.sources.rows import AttackRow, FlagRow
from radarstream.pipelines.evaluation.sources.worlds import START, World
from radarstream.schemas.sites import key_of
from radarstream.schemas.snapshot import Labels
from radarstream.schemas.sources import (
    DAY_MS,
    NEUTRAL,
    EventKind,
    LedgerRules,
    SourceEvent,
    Standing,
)
from radarstream.schemas.times import milliseconds

MISTAKEN: Final = 0.05  # share of honest documents that a fallible attributor blames
FLAGS: Final = (0, 1, 2, 4, 8)
HONEST_DAYS: Final = 90  # of agreement at the cap of a day, for a source with a past
_START_MS: Final = milliseconds(START)


@dataclass(frozen=True, slots=True)
class Attack:
    """A contender against the attacker of a world; `oracle` confirms the hits."""

    contender: Contender
    world: World
    oracle: Oracle

    @property
    def condition(self) -> str:
        """What the contender meets, in words."""
        return f"{self.world.name}, attacked, {self.oracle.name}"

    def play(self, stage: Stage, rules: LedgerRules) -> tuple[Played, AttackRow]:
        """Play it on the attacked histories of the world. Raises ModelError."""
        played = stage.play(self.contender, rules, condition=self.condition, oracle=self.oracle)
        losses = honest_losses(played, stage.histories, rules)
        return played, AttackRow(
            contender=self.contender.name,
            condition=self.condition,
            world=self.world.name,
            oracle=self.oracle.name,
            honest_loss=float(np.mean(losses)),
            worst_loss=float(np.max(losses)),
        )


@dataclass(frozen=True, slots=True)
class Flags:
    """A contender without an attacker. Before the first step the site that is right most often was
    flagged `flags` times, once a day, after `honest_days` days of agreement.
    """

    contender: Contender
    world: World
    flags: int
    honest_days: int

    @property
    def condition(self) -> str:
        """What the contender meets, in words."""
        past = f" after {self.honest_days} days of agreement" if self.honest_days else ""
        return f"{self.world.name}, {self.flags} false flags{past}"

    def play(self, stage: Stage, rules: LedgerRules) -> tuple[Played, FlagRow]:
        """Play it on the honest histories of the world. Raises ModelError."""
        site = best_site(stage)
        credit = [(site, _START_MS - day * DAY_MS) for day in range(1, self.honest_days + 1)]
        events = [
            SourceEvent(f"flag {n}", site, EventKind.CONFIRMED, _START_MS - (n + 1) * DAY_MS)
            for n in range(self.flags)
        ]
        played = stage.play(
            self.contender, rules, condition=self.condition, before=events, credit=credit
        )
        standing = played.ledger[site]
        return played, FlagRow(
            contender=self.contender.name,
            condition=self.condition,
            world=self.world.name,
            flags=self.flags,
            honest_days=self.honest_days,
            honesty=standing.honesty(_START_MS, rules.half_life_days),
            weight=weight(standing, _START_MS, rules),
        )


def honest_losses(play: Played, histories: Sequence[History], rules: LedgerRules) -> list[float]:
    """The share of its weight that each honest site has lost by the last step."""
    attackers = {
        key_of(document)
        for history in histories
        for snapshot in history
        for document in snapshot.documents
        if snapshot.labels and document.rank in snapshot.labels.poisoned_ranks
    }
    as_of_ms = max(history[-1].observed_at_ms for history in histories)
    return [
        1.0 - weight(standing, as_of_ms, rules)
        for site, standing in play.ledger.items()
        if site not in attackers
    ]


def weight(standing: Standing, as_of_ms: int, rules: LedgerRules) -> float:
    """1 minus the distrust: what is left of a source's word, in (0, 1]."""
    honesty = standing.honesty(as_of_ms, rules.half_life_days)
    return 1.0 - float(distrust(np.array(honesty), NEUTRAL))


def best_site(stage: Stage) -> str:
    """The site whose pages give the right answer most often."""
    counts: Counter[str] = Counter()
    for step, wave in enumerate(stage.evidence):
        for history, ready in zip(stage.histories, wave, strict=True):
            labels, evidence = history[step].labels or Labels(), ready.evidence
            for document, answer in zip(evidence.documents, evidence.answers or (), strict=True):
                counts[key_of(document)] += not answer.abstained and is_correct(answer.text, labels)
    return max(counts, key=lambda site: (counts[site], site))
