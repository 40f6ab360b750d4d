"""The world around the driver, in one thread: a clock, a log, a sink, a database and models.

Each asks `Faults` wherever the real thing could fail, and does what it is told: work, fail before
or after having worked, or let the worker die.
"""

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from sqlalchemy import Engine

from radarstream.schemas.errors import BrokerError, ModelError
from radarstream.schemas.prompt import Completion, Prompt
from radarstream.schemas.records import LogPosition, OutboxRecord, RawRecord
from tests.simulation.plan import BREAKS_THE_GRAPH, START, Input, Rates


class Crash(BaseException):
    """The worker dies here; nothing but the world outside of it survives."""


class UnforeseenError(RuntimeError):
    """What a stage raises that meets a record it cannot bear."""


@dataclass
class Faults:
    """Decides, from the seed, what goes wrong where; `rival` lets another worker run meanwhile."""

    random: Random
    rates: Rates
    rival: Callable[[], None] = lambda: None
    stop: Callable[[], None] = lambda: None
    active: bool = True
    trace: list[str] = field(default_factory=list)
    deaths: int = 0

    def note(self, *words: object) -> None:
        self.trace.append(" ".join(map(str, words)))

    def strikes(self, kind: str) -> bool:
        """Whether a fault of this kind strikes now."""
        rate = getattr(self.rates, kind) if self.active else 0.0
        return rate > 0.0 and self.random.random() < rate

    def may_die(self, where: str) -> None:
        """Die, be asked to stop, or go on."""
        if self.strikes("stop"):
            self.note("asked to stop", where)
            self.stop()
        if self.strikes("crash"):
            self.deaths += 1
            self.note("CRASH", where)
            raise Crash(where)

    def meanwhile(self, where: str) -> None:
        """Another worker on the same partitions may take a step here."""
        if self.strikes("rival"):
            self.note("meanwhile", where)
            self.rival()


@dataclass
class Clock:
    """Seconds pass when somebody waits; the wall clock may jump."""

    seconds: float = 1_000.0
    wall: datetime = START

    def now(self) -> datetime:
        return self.wall

    def monotonic(self) -> float:
        return self.seconds

    def wait(self, seconds: float) -> None:
        self.pass_by(seconds)

    def pass_by(self, seconds: float) -> None:
        self.seconds += seconds
        self.wall += timedelta(seconds=seconds)


class Topic:
    """A partitioned log with the offsets that were committed."""

    def __init__(self, partitions: int) -> None:
        self.records: list[list[bytes]] = [[] for _ in range(partitions)]
        self.epochs = [0] * partitions
        self.committed: dict[int, int] = {}

    def append(self, item: Input) -> None:
        self.records[item.partition].append(item.payload)

    def recreate(self, partition: int) -> None:
        """Lose a partition's records and offsets; what comes next has another epoch."""
        self.records[partition] = []
        self.epochs[partition] += 1
        self.committed.pop(partition, None)

    def record(self, partition: int, offset: int) -> RawRecord:
        epoch = f"epoch-{self.epochs[partition]}"
        data = self.records[partition][offset]
        source = f"{epoch}/search.snapshots/{partition}"
        return RawRecord(source, offset, data, log=LogPosition(epoch, partition, offset))

    def below_commit(self, partition: int) -> list[RawRecord]:
        """Every record that was committed as done."""
        return [self.record(partition, o) for o in range(self.committed.get(partition, 0))]


class Reader:
    """One worker's view of the topic; fits `SnapshotLog`."""

    def __init__(
        self,
        topic: Topic,
        clock: Clock,
        faults: Faults,
        committed: Callable[[int], None],
        *,
        moves: bool,
    ) -> None:
        self.topic, self.clock, self.faults, self.told = topic, clock, faults, committed
        self.moves = moves
        self.everything = frozenset(range(len(topic.records)))
        self.assigned: frozenset[int] = frozenset()
        self.next: dict[int, tuple[int, int]] = {}
        self.left: dict[int, int] = {}
        self.assign(self.everything)

    def assign(self, partitions: frozenset[int]) -> None:
        """Read these partitions; new ones from their committed offset."""
        for partition in partitions - self.assigned:
            self.rewind(partition)
        self.assigned = partitions

    def rewind(self, partition: int) -> None:
        offset = self.topic.committed.get(partition, 0)
        self.next[partition] = (self.topic.epochs[partition], offset)

    def partitions(self) -> frozenset[int]:
        return self.assigned

    def unread(self) -> dict[int, int]:
        return {p: n for p, n in self.left.items() if p in self.assigned}

    def poll(self, *, max_records: int, max_bytes: int, timeout_s: float) -> list[RawRecord]:
        faults = self.faults
        faults.may_die("in poll")
        faults.meanwhile("in poll")
        self.rebalance()
        if faults.strikes("poll"):
            faults.note("poll fails")
            raise BrokerError("simulated: poll")
        polled: list[RawRecord] = []
        self.left = {}
        for partition in sorted(self.assigned, key=lambda _: faults.random.random()):
            polled += self.read(partition, max_records - len(polled))
        if polled:
            self.clock.pass_by(0.01)
            faults.note("polled", [(r.source, r.position) for r in polled])
        else:
            self.clock.pass_by(timeout_s)
        return polled

    def read(self, partition: int, room: int) -> list[RawRecord]:
        epoch, offset = self.next[partition]
        if epoch != self.topic.epochs[partition]:
            offset = 0
        end = min(len(self.topic.records[partition]), offset + max(0, room))
        self.next[partition] = (self.topic.epochs[partition], max(offset, end))
        self.left[partition] = len(self.topic.records[partition]) - max(offset, end)
        return [self.topic.record(partition, o) for o in range(offset, end)]

    def rebalance(self) -> None:
        """Lose partitions, get them back, or be sent back to what was committed."""
        if not (self.moves and self.faults.active):
            return
        draw = self.faults.random.random()
        if draw < 0.1:
            some = frozenset(p for p in self.everything if self.faults.random.random() < 0.5)
            self.faults.note("reads", sorted(some))
            self.assign(some)
        elif draw < 0.3:
            self.assign(self.everything)
        elif draw < 0.35:
            self.faults.note("reads again from what is committed")
            for partition in self.assigned:
                self.rewind(partition)

    def commit(self, next_offsets: Mapping[int, int]) -> None:
        self.faults.may_die("before the commit of offsets")
        self.faults.meanwhile("before the commit of offsets")
        failing = self.faults.strikes("commit")
        if failing and self.faults.random.random() < 0.5:
            self.faults.note("commit of offsets fails")
            raise BrokerError("simulated: commit")
        for partition, offset in next_offsets.items():
            if offset > self.next[partition][1]:  # as `KafkaLog`: of a log created anew since
                continue
            self.topic.committed[partition] = offset
            self.faults.note("committed", partition, offset)
            self.told(partition)
        self.faults.may_die("after the commit of offsets")
        if failing:
            self.faults.note("commit of offsets seems to fail")
            raise BrokerError("simulated: commit that went through")


@dataclass
class Topics:
    """Where events go; keeps every publication in order."""

    faults: Faults
    published: list[OutboxRecord] = field(default_factory=list)

    def publish(self, records: Sequence[OutboxRecord]) -> None:
        self.faults.may_die("before publication")
        self.faults.meanwhile("before publication")
        failing = self.faults.strikes("publish")
        if failing or self.faults.strikes("crash"):
            self.publish_part(records)
        else:
            self.published += records
        self.faults.note("published", [r.event_id for r in records])
        if failing:
            self.faults.note("publication fails")
            raise BrokerError("simulated: publish")
        self.faults.meanwhile("after publication")
        self.faults.may_die("between publication and marking as sent")

    def publish_part(self, records: Sequence[OutboxRecord]) -> None:
        """Publish none, some or all; of each key only a beginning, as a partition keeps order."""
        how_many = {
            key: self.faults.random.randint(0, 4) for key in dict.fromkeys(r.key for r in records)
        }
        for record in records:
            how_many[record.key] -= 1
            if how_many[record.key] >= 0:
                self.published.append(record)
        self.faults.note("publication in part")
        if not self.faults.strikes("publish"):
            self.faults.may_die("in the middle of publication")
        raise BrokerError("simulated: publish in part")


def unreliable(engine: Engine, faults: Faults) -> Engine:
    """Let statements and commits of an engine fail as a busy SQLite database does."""
    dialect: Any = engine.dialect
    execute, commit = dialect.do_execute, dialect.do_commit

    def busy(what: str) -> sqlite3.OperationalError:
        faults.note("database:", what)
        error = sqlite3.OperationalError(f"simulated: {what}")
        error.sqlite_errorcode = sqlite3.SQLITE_BUSY
        return error

    def do_execute(cursor: Any, statement: str, parameters: Any, context: Any = None) -> None:
        faults.may_die("in a statement")
        if not cursor.connection.in_transaction:  # later a rival would wait for our lock
            faults.meanwhile("before a transaction")
        if faults.strikes("statement"):
            raise busy("statement")
        execute(cursor, statement, parameters, context)

    def do_commit(connection: Any) -> None:
        faults.may_die("before the database commit")
        failing = faults.strikes("transaction")
        if failing and faults.random.random() < 0.5:
            raise busy("commit")
        commit(connection)
        faults.may_die("after the database commit")
        if failing:
            raise busy("commit that went through")

    dialect.do_execute, dialect.do_commit = do_execute, do_commit
    return engine


@dataclass
class UnreliableGenerator:
    """A scripted generator that fails, is slow, meets what it cannot bear, or dies."""

    generator: Any
    clock: Clock
    faults: Faults

    @property
    def model_id(self) -> str:
        return str(self.generator.model_id)

    def complete(self, prompts: Sequence[Prompt]) -> list[Completion]:
        if any(BREAKS_THE_GRAPH in p for prompt in prompts for p in prompt.passages):
            raise UnforeseenError("simulated defect")
        self.faults.may_die("before a model call")
        self.faults.meanwhile("in a model call")
        self.clock.pass_by(0.05 * len(prompts))
        if self.faults.strikes("model"):
            self.faults.note("model fails")
            self.clock.pass_by(5.0)
            raise ModelError(f"simulated failure at {self.clock.seconds:.2f} s")
        completions: list[Completion] = self.generator.complete(prompts)
        self.faults.may_die("after a model call")
        return completions
