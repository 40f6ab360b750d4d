"""Simulated histories with the page of one constant attacker at position 1."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from radarstream.pipelines.evaluation.attacks.protocol import aim_of
from radarstream.pipelines.evaluation.attacks.registry import attack_named
from radarstream.pipelines.evaluation.datasets import History, load_dataset
from radarstream.pipelines.evaluation.scoring import is_correct
from radarstream.pipelines.evaluation.simulation.history import SimulationOptions, write_history
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Document, Labels, SearchSnapshot

START: Final = datetime(2025, 1, 1, 12, tzinfo=UTC)
_MOST_DAYS: Final = 3_650


@dataclass(frozen=True, slots=True)
class World:
    """The pages that the attacker competes with.

    `k` counts the attacker's page, too. Of the others `off_topic` is the share that answers
    nothing, `stale` and `noise` are the shares that answer wrongly in good faith.
    """

    name: str
    k: int
    off_topic: float
    stale: float = 0.0
    noise: float = 0.0


WORLDS: Final = (
    World("k=10, most pages honest", 10, off_topic=0.2, stale=0.1, noise=0.15),
    World("k=3, one honest answer", 3, off_topic=0.5),
    World("k=2, one honest answer", 2, off_topic=0.0),
)


@dataclass(frozen=True, slots=True)
class Campaign:
    """How long questions are watched, how often, and what the attacker plants."""

    questions: int = 20
    steps: int = 8
    days: float = 7.0
    attack: str = "poison"
    seed: int = 0

    def __post_init__(self) -> None:
        if not 2 <= self.steps <= 13:
            raise ConfigurationError("a simulated history has 2 to 13 steps")
        if not 0.0 < self.days <= _MOST_DAYS:
            raise ConfigurationError(
                f"days between two steps must be above 0 and at most {_MOST_DAYS:,}"
            )


def attacked_histories(world: World, campaign: Campaign) -> tuple[History, ...]:
    """Histories with the falsehood at rank 1 of every step, the honest pages moved down by one.

    The attacker of a question states the same falsehood from the same site at every step; every
    question has an attacker of its own. Steps are `days` apart, whatever year the pages are from.
    """
    return tuple(
        tuple(
            poisoned(snapshot, history, number, step, campaign)
            for step, snapshot in enumerate(history)
        )
        for number, history in enumerate(honest_histories(world, campaign))
    )


def honest_histories(world: World, campaign: Campaign) -> tuple[History, ...]:
    """The same without the attacker's page: k - 1 documents at ranks from 1."""
    options = SimulationOptions(
        questions=campaign.questions,
        k=world.k - 1,
        min_snapshots=campaign.steps,
        max_snapshots=campaign.steps,
        stale_share=world.stale,
        noise_share=world.noise,
        off_topic_share=world.off_topic,
        seed=campaign.seed,
    )
    with TemporaryDirectory() as directory:
        file = Path(directory) / "history.json"
        write_history(file, options)
        histories = load_dataset(file).histories
    return tuple(
        tuple(
            replace(snapshot, observed_at=START + timedelta(days=campaign.days * step))
            for step, snapshot in enumerate(history)
        )
        for history in histories
    )


def poisoned(
    snapshot: SearchSnapshot, history: History, number: int, step: int, campaign: Campaign
) -> SearchSnapshot:
    """The snapshot with the falsehood of the first step at rank 1."""
    first, own = history[0].labels or Labels(), snapshot.labels or Labels()
    labels = replace(own, target=first.target, false_passages=first.false_passages)
    if is_correct(labels.target or "", labels, strict=False):
        raise ConfigurationError(f"the lie about {snapshot.query.text!r} comes true")
    attack = attack_named(campaign.attack)
    (text,) = attack.texts(aim_of(replace(snapshot, labels=labels)), 1)
    url = f"https://www.{liar_of(number)}/{step}"
    moved = (replace(document, rank=document.rank + 1) for document in snapshot.documents)
    return replace(
        snapshot,
        documents=(Document(1, text, url=url), *moved),
        labels=replace(labels, attack=attack.name, poisoned_ranks=(1,)),
    )


def liar_of(number: int) -> str:
    """The site of the attacker of a question."""
    return f"liar-{number}.example"
