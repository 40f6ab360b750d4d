"""A worker: the real driver and the real stages on the simulated world; only Beam is left out."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from sqlalchemy import Engine

from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
)
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries import outbox
from radarstream.defenses.radar import Radar
from radarstream.pipelines.beam import folding
from radarstream.pipelines.beam.folding import Parked, Recorded, gathered, lane_of
from radarstream.pipelines.beam.holding import HoldBack, event_time_of
from radarstream.pipelines.job.answering.driver import Driver
from radarstream.pipelines.job.answering.running import park
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import JobSettings, load_settings
from radarstream.pipelines.signals.ports import Generator, Models
from radarstream.schemas.codec import dead_letter, decode_record, outbox_record
from radarstream.schemas.errors import InputError
from radarstream.schemas.events import AnswerEvent, DeadLetter
from radarstream.schemas.records import Limits, RawRecord
from radarstream.schemas.snapshot import SearchSnapshot
from tests.scripted_models import last_words
from tests.simulation.plan import Plan
from tests.simulation.world import (
    Clock,
    Faults,
    Reader,
    Topic,
    Topics,
    UnreliableGenerator,
    unreliable,
)

SETTINGS = load_settings(profile="scripted")
LIMITS = Limits()
TOLERANCE = timedelta(hours=1)


@dataclass
class World:
    """Everything that outlives a worker."""

    plan: Plan
    database: Path
    clock: Clock
    faults: Faults
    topic: Topic
    topics: Topics
    committed: Callable[[int], None] = lambda _: None


@dataclass
class Silence:
    """Hears what the driver tells, for the trace."""

    faults: Faults
    name: str

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *_, **__: None

    def outcomes(self, outcomes: Sequence[AnswerEvent | DeadLetter], now: datetime) -> None:
        said = [o.snapshot_id if isinstance(o, AnswerEvent) else o.reason.value for o in outcomes]
        if said:
            self.faults.note(self.name, "led to", said)

    def retried(self, stage: str, error: BaseException) -> None:
        self.faults.note(self.name, "tries again:", stage, type(error).__name__)

    def broken(self, record: RawRecord, error: BaseException) -> None:
        self.faults.note(self.name, "broken by", record.source, record.position)


@dataclass
class Worker:
    """One process: it has an engine, a guard, a reader and a driver, and may end at any time."""

    world: World
    name: str
    stopped: bool = False
    engine: Engine = field(init=False)
    reader: Reader = field(init=False)
    driver: Driver = field(init=False)

    def __post_init__(self) -> None:
        world, plan = self.world, self.world.plan
        engine = open_engine(f"sqlite:///{world.database}", busy_timeout_s=0.0)
        self.engine = unreliable(engine, world.faults)
        self.reader = Reader(
            world.topic, world.clock, world.faults, world.committed, moves=plan.rebalances
        )
        guard = guard_of(world, self.engine)
        self.driver = Driver(
            log=self.reader,
            batch=lambda records: run_graph(guard, self.engine, world.clock, records),
            publish=lambda lanes: outbox.publish_outbox(self.engine, world.topics, lanes=lanes),
            park=lambda record, refusal: park(self.engine, record, refusal),
            holding=HoldBack(plan.lateness_s, event_time_of),
            clock=world.clock,
            observer=Silence(world.faults, self.name),
            settings=JobSettings(
                batch_records=plan.batch_records,
                allowed_lateness_s=plan.lateness_s,
                attempts=4,
                dead_share=1.0,
            ),
            stopping=lambda: self.stopped,
            random=Random(plan.seed),
        )

    def close(self) -> None:
        self.engine.dispose()


def guard_of(world: World, engine: Engine) -> DefensePipeline[Any]:
    """RADAR on scripted models that may fail."""
    generator: Generator = UnreliableGenerator(
        ScriptedGenerator(script=last_words), world.clock, world.faults
    )
    if world.plan.cached:
        generator = Cached(generator, ResponseCache(engine), chunk=4)
    return DefensePipeline(
        "radar", Radar(), Models(generator, ScriptedRelations(), ScriptedEmbedder())
    )


def run_graph(
    guard: DefensePipeline[Any], engine: Engine, clock: Clock, records: Sequence[RawRecord]
) -> list[AnswerEvent | DeadLetter]:
    """What the graph's steps do to one batch, in the order in which Beam's runner runs them."""
    observed = [decoded(record, clock) for record in records]
    found = gathered(guard, observed)
    parked = [item for item in found if isinstance(item, Parked)]
    outbox.append(engine, [outbox_record(p.letter, lane=lane_of(p.record)) for p in parked])
    queries: dict[str, list[folding.Item]] = defaultdict(list)
    for item in found:
        if isinstance(item, Recorded):
            queries[item.value.chosen.snapshot.query.id].append(item)
    return [*(p.letter for p in parked), *folding.fold_queries(guard, engine, queries, "")]


def decoded(record: RawRecord, clock: Clock) -> Recorded[SearchSnapshot] | Parked:
    """Decode with the simulated clock."""
    try:
        snapshot = decode_record(record, limits=LIMITS, now=clock.now(), tolerance=TOLERANCE)
        return Recorded(record, snapshot)
    except InputError as error:
        return Parked(record, dead_letter(record, error))
