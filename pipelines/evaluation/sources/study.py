"""What a ledger changes: attack success step by step, what it costs the honest, false flags."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from radarstream.defenses.kernels.honesty import distrust
from radarstream.pipelines.evaluation.datasets import History
from radarstream.pipelines.evaluation.metrics import Rate, is_correct
from radarstream.pipelines.evaluation.sources.playing import Contender, Oracle, Played, Stage
from radarstream.pipelines.evaluation.sources.worlds import (
    START,
    Campaign,
    World,
    attacked_histories,
    honest_histories,
)
from radarstream.pipelines.signals.ports import Models
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

EVENTS_TO_NEUTRALISE: Final = 2
MISTAKEN: Final = 0.05  # share of honest documents that a fallible attributor blames
FLAGS: Final = (0, 1, 2, 4, 8)
HONEST_DAYS: Final = 90  # of agreement at the cap of a day, for a source with a past
_START_MS: Final = milliseconds(START)


@dataclass(frozen=True, slots=True)
class AttackResult:
    """One defence against the liar of one world.

    `attacked` and `correct` are per step. `after` are the hits after so many confirmed events
    of the same question where another page had something to say, `alone` where none had.
    `honest_loss` is the mean, `worst_loss` the largest share of its weight that an honest site
    lost by the end; a weight is 1 minus the distrust.
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
    """What false flags cost the site that is right most often: its honesty and weight right after
    them, and the accuracy over all steps of a world without a liar.
    """

    world: str
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


def contenders(priors: Sequence[float]) -> list[Contender]:
    """No defence, RADAR without a ledger and with one of every weight, RADAR+ likewise with the
    last weight, which also learns.
    """
    last = priors[-1]
    return [
        Contender("vanilla", "vanilla"),
        Contender("radar"),
        *(Contender(f"radar, prior {p:g}", source_prior=p) for p in priors),
        Contender(f"radar, prior {last:g}, learning", source_prior=last, learn=True),
        Contender("radar_plus", "radar_plus"),
        Contender(f"radar_plus, prior {last:g}", "radar_plus", last),
    ]


def study(
    worlds: Sequence[World],
    campaign: Campaign,
    priors: Sequence[float],
    rules: LedgerRules,
    models: Models,
    *,
    tell: Callable[[str], None] = lambda _: None,
) -> Results:
    """Play everything; `tell` hears what is being played. Raises ModelError."""
    attacks: list[AttackResult] = []
    flags: list[FlagResult] = []
    for world in worlds:
        tell(f"{world.name}: attacked")
        stage = Stage(attacked_histories(world, campaign), models)
        for contender in contenders(priors):
            exact = played(stage, world, contender, rules, Oracle(seed=campaign.seed))
            attacks.append(exact)
            if contender.source_prior:
                oracle = Oracle(MISTAKEN, campaign.seed)
                attacks.append(played(stage, world, contender, rules, oracle))
        tell(f"{world.name}: false flags")
        honest = Stage(honest_histories(world, campaign), models)
        flags += flagged(honest, world, priors[-1], rules)
    return Results(tuple(attacks), tuple(flags))


def played(
    stage: Stage, world: World, contender: Contender, rules: LedgerRules, oracle: Oracle
) -> AttackResult:
    """One play, summed up."""
    play = stage.play(contender, rules, oracle=oracle)
    waves = [[s for s in play.steps if s.step == t] for t in range(len(stage.histories[0]))]
    late = [s for s in play.steps if s.confirmed >= EVENTS_TO_NEUTRALISE]
    losses = honest_losses(play, stage.histories, rules)
    return AttackResult(
        world=world.name,
        contender=contender.name,
        oracle=oracle.name,
        attacked=tuple(rate([s.hit for s in wave]) for wave in waves),
        correct=tuple(rate([s.correct for s in wave]) for wave in waves),
        after=rate([s.hit for s in late if not s.alone]),
        alone=rate([s.hit for s in late if s.alone]),
        honest_loss=float(np.mean(losses)),
        worst_loss=float(np.max(losses)),
        events=sum(s.hit for s in play.steps),
    )


def honest_losses(play: Played, histories: Sequence[History], rules: LedgerRules) -> list[float]:
    """Per honest site the share of its weight that it has lost by the last step."""
    liars = {
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
        if site not in liars
    ]


def weight(standing: Standing, as_of_ms: int, rules: LedgerRules) -> float:
    """1 minus the distrust: what is left of a source's word, in (0, 1]."""
    honesty = standing.honesty(as_of_ms, rules.half_life_days)
    return 1.0 - float(distrust(np.array(honesty), NEUTRAL))


def flagged(stage: Stage, world: World, prior: float, rules: LedgerRules) -> list[FlagResult]:
    """False flags, one a day before the first step, on the site that is right most often."""
    contender = Contender("ledger", source_prior=prior)
    site = best_site(stage)
    found = []
    for honest_days in (0, HONEST_DAYS):
        credit = [(site, _START_MS - day * DAY_MS) for day in range(1, honest_days + 1)]
        for count in FLAGS:
            events = [
                SourceEvent(f"flag {n}", site, EventKind.CONFIRMED, _START_MS - (n + 1) * DAY_MS)
                for n in range(count)
            ]
            play = stage.play(contender, rules, before=events, credit=credit)
            standing = play.ledger[site]
            found.append(
                FlagResult(
                    world=world.name,
                    flags=count,
                    honest_days=honest_days,
                    honesty=standing.honesty(_START_MS, rules.half_life_days),
                    weight=weight(standing, _START_MS, rules),
                    correct=rate([s.correct for s in play.steps]),
                )
            )
    return found


def best_site(stage: Stage) -> str:
    """The site whose pages give the right answer most often."""
    counts: Counter[str] = Counter()
    for step, wave in enumerate(stage.evidence):
        for history, evidence in zip(stage.histories, wave, strict=True):
            labels = history[step].labels or Labels()
            for document, answer in zip(evidence.documents, evidence.answers or (), strict=True):
                counts[key_of(document)] += not answer.abstained and is_correct(answer.text, labels)
    return max(counts, key=lambda site: (counts[site], site))


def rate(hits: Sequence[bool]) -> Rate:
    """How many of them."""
    return Rate(sum(hits), len(hits))
