"""What one simulated life holds, drawn from its seed: inputs, faults and how often they strike."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from random import Random
from typing import Any, Literal

from radarstream.schemas.codec import encode
from radarstream.schemas.snapshot import SearchSnapshot
from tests.builders import OBSERVED_AT, make_snapshot

BREAKS_THE_GRAPH = "no stage can bear this"
BETWEEN_SNAPSHOTS = timedelta(seconds=10)
START = OBSERVED_AT + timedelta(days=1)
SLOW_START = OBSERVED_AT - timedelta(minutes=6)  # the snapshots are of the future
CLAIMS = ("Rome", "Rome", "Oslo", "Bern")
Disorder = Literal["none", "shuffled", "late"]


@dataclass(frozen=True)
class Rates:
    """How probably a fault strikes whenever it could, by what it strikes."""

    poll: float = 0.0
    commit: float = 0.0
    publish: float = 0.0
    statement: float = 0.0
    transaction: float = 0.0
    model: float = 0.0
    crash: float = 0.0
    stop: float = 0.0
    rival: float = 0.0


@dataclass(frozen=True)
class Plan:
    """One life. `lateness_s` of 0 holds nothing back; `cached` puts the response cache in."""

    seed: int
    queries: int
    snapshots: int
    partitions: int
    lateness_s: float
    batch_records: int
    disorder: Disorder
    duplicates: bool
    poison: bool
    rebalances: bool
    recreations: bool
    clock_jumps: bool
    cached: bool
    rates: Rates
    slow_clock: bool = False  # the workers' clock: minutes behind those of whoever searches

    @property
    def in_order(self) -> bool:
        """Whether nothing but answers may come out."""
        return (
            self.disorder == "none"
            and not self.poison
            and not self.recreations
            and not self.duplicates
            and not self.rates.model
        )


def draw(seed: int) -> Plan:
    """Draw a life from its seed; about a third of the kinds of faults are absent from each."""
    random = Random(seed)

    def rate(*choices: float) -> float:
        return random.choice((0.0, 0.0, *choices, *choices))

    return Plan(
        seed=seed,
        queries=random.randint(1, 4),
        snapshots=random.randint(3, 7),
        partitions=random.randint(1, 3),
        lateness_s=random.choice((0.0, 0.0, 25.0)),
        batch_records=random.choice((2, 5, 50)),
        disorder=random.choice(("none", "none", "shuffled", "late")),
        duplicates=random.random() < 0.5,
        poison=random.random() < 0.4,
        rebalances=random.random() < 0.3,
        recreations=random.random() < 0.25,
        clock_jumps=random.random() < 0.5,
        cached=random.random() < 0.2,
        rates=Rates(
            poll=rate(0.05, 0.2),
            commit=rate(0.1, 0.4),
            publish=rate(0.05, 0.25),
            statement=rate(0.005, 0.02),
            transaction=rate(0.02, 0.1),
            model=rate(0.05, 0.2),
            crash=rate(0.01, 0.03),
            stop=rate(0.01),
            rival=rate(0.05, 0.2),
        ),
        slow_clock=random.random() < 0.2,
    )


def peaceful(**changes: Any) -> Plan:
    """A life without faults, of one query in one partition unless told otherwise."""
    quiet = Plan(0, 1, 5, 1, 0.0, 50, "none", False, False, False, False, False, False, Rates())
    return replace(quiet, **changes)


def harsh(plan: Plan) -> Plan:
    """The same life with everything failing often: quicker to show that something is wrong."""
    rates = Rates(0.1, 0.2, 0.15, 0.01, 0.05, plan.rates.model and 0.2, 0.02, 0.0, 0.2)
    return replace(plan, snapshots=7, partitions=1, batch_records=5, rates=rates)


def harsh_in_disorder(plan: Plan) -> Plan:
    """A harsh life in which records are held back and come in disorder."""
    held = {"lateness_s": 25.0, "disorder": "shuffled", "duplicates": False, "recreations": False}
    return replace(harsh(plan), **held, clock_jumps=True)


@dataclass(frozen=True)
class Input:
    """A record to append; the same payload may be appended more than once."""

    partition: int
    payload: bytes


@cache
def snapshot(query: int, number: int) -> SearchSnapshot:
    """The world that all lives share: what query `query` finds at its `number`th fetch."""
    claim = CLAIMS[(query + number) % len(CLAIMS)]
    said = enumerate((claim, claim, "Nobody"), start=1)
    texts = [f"Page {page} says: {winner}." for page, winner in said]
    time = OBSERVED_AT + number * BETWEEN_SNAPSHOTS
    return make_snapshot(
        texts, question=f"Who won cup {query}?", query_id=f"cup-{query}", observed_at=time
    )


@cache
def payload(query: int, number: int) -> bytes:
    """The record of a snapshot."""
    return encode(snapshot(query, number))


def inputs(plan: Plan, random: Random) -> list[Input]:
    """Everything that is appended, in this order."""
    places = [(q, n) for n in range(plan.snapshots) for q in range(plan.queries)]
    if plan.disorder == "shuffled":
        places = [
            place
            for _, place in sorted((i + random.uniform(0, 8), p) for i, p in enumerate(places))
        ]
    story = [Input(q % plan.partitions, payload(q, n)) for q, n in places]
    if plan.disorder == "late":
        for _ in range(3):
            story.append(story.pop(random.randrange(len(story))))
    if plan.duplicates:
        for _ in range(1 + len(story) // 10):
            copied = random.randrange(len(story))
            story.insert(random.randint(copied, len(story)), story[copied])
    if plan.poison:
        for bad in poison(random):
            story.insert(
                random.randint(0, len(story)), Input(random.randrange(plan.partitions), bad)
            )
    return story


def poison(random: Random) -> list[bytes]:
    """Records that can lead to nothing but a dead letter."""
    future = make_snapshot(["The winner: Rome."], query_id="cup-0", observed_at=later(START))
    broken = make_snapshot([BREAKS_THE_GRAPH], query_id="cup-1", observed_at=OBSERVED_AT)
    return [random.randbytes(20), b"{}", encode(future), encode(broken)]


def later(time: datetime) -> datetime:
    """A time that no clock of a simulation reaches."""
    return time + timedelta(days=365)
