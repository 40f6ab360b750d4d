"""One simulated life from a seed: inputs arrive, workers run and die, then everything must hold."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import Random

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.job.failures import kind_of
from tests.simulation.plan import SLOW_START, START, Plan, draw, inputs
from tests.simulation.promises import Promises
from tests.simulation.worker import Worker, World
from tests.simulation.world import Clock, Crash, Faults, Topic, Topics

WATCH_MEMORY = (
    "CREATE TABLE rewinds (query_id TEXT, step INTEGER)",
    """CREATE TRIGGER watch_updates AFTER UPDATE ON memory
       WHEN NEW.step <= OLD.step OR NEW.as_of_ms <= OLD.as_of_ms
       BEGIN INSERT INTO rewinds VALUES (NEW.query_id, NEW.step); END""",
    """CREATE TRIGGER watch_deletions AFTER DELETE ON memory
       BEGIN INSERT INTO rewinds VALUES (OLD.query_id, OLD.step); END""",
)
IDLE_STEPS = 100  # a second each, and as many again as records are held back


@dataclass
class Life:
    """The course of one life. `promises.broken` tells what did not hold."""

    plan: Plan
    world: World
    promises: Promises
    worker: Worker
    rival: Worker | None = None
    rival_runs: bool = False
    starts: int = 1
    faults: Faults = field(init=False)

    def __post_init__(self) -> None:
        self.faults = self.world.faults
        self.faults.rival = self.step_rival
        self.faults.stop = lambda: setattr(self.worker, "stopped", True)

    def run(self) -> None:
        """Let inputs arrive while everything may fail, then let everything work to the end."""
        random = self.faults.random
        waiting = inputs(self.plan, random)
        appended: list = []
        while waiting:
            for _ in range(random.randint(1, 4)):
                if waiting:
                    appended.append(waiting.pop(0))
                    self.world.topic.append(appended[-1])
            for _ in range(random.randint(1, 3)):
                self.step()
            self.disturb(random)
            if self.plan.recreations and random.random() < 0.3:
                self.recreate(random, appended)
        for _ in range(random.randint(0, 10)):
            self.step()
        self.drain()

    def step(self) -> None:
        """Let the worker take a step; if it ends by that, the supervisor starts another."""
        self.faults.note("-- step of", self.worker.name)
        try:
            self.worker.driver.step()
        except Crash:
            self.restart()
        except Exception as error:
            if kind_of(error) != "transient":
                raise
            self.faults.note("the job ended:", type(error).__name__)
            self.restart()
        else:
            if self.worker.stopped:
                self.restart()

    def restart(self) -> None:
        self.starts += 1
        self.worker.close()
        self.worker = Worker(self.world, f"worker {self.starts}")

    def step_rival(self) -> None:
        """Let a second worker on the same partitions take a step in the middle of the first's."""
        if self.rival_runs:
            return
        self.rival_runs = True
        try:
            self.rival = self.rival or Worker(self.world, "rival")
            for _ in range(self.faults.random.randint(1, 3)):
                self.rival.driver.step()
        except Crash:
            self.end_rival()
        except Exception as error:
            if kind_of(error) != "transient":
                raise
            self.end_rival()
        finally:
            self.rival_runs = False

    def end_rival(self) -> None:
        if self.rival is not None:
            self.rival.close()
            self.rival = None

    def disturb(self, random: Random) -> None:
        """Let clocks jump and the rival disappear now and then."""
        clock = self.world.clock
        # Jumps of an hour on top of it would bring snapshots beyond any tolerance.
        if self.plan.clock_jumps and not self.plan.slow_clock and random.random() < 0.2:
            clock.wall += timedelta(seconds=random.choice((-3_600, -5, 5, 3_600)))
            clock.seconds += random.choice((0, 0, 30))
            self.faults.note("clocks jump")
        if self.rival is not None and random.random() < 0.1:
            self.end_rival()

    def recreate(self, random: Random, appended: list) -> None:
        """Lose a partition; its producer sends again what was not committed, and a bit more."""
        partition = random.randrange(self.plan.partitions)
        done = self.world.topic.committed.get(partition, 0)
        self.faults.note("partition is created anew", partition)
        self.promises.forgive(partition)
        again = list(self.world.topic.records[partition])[max(0, done - 2) :]
        self.world.topic.recreate(partition)
        self.world.topic.records[partition] = again

    def drain(self) -> None:
        """Without any fault, let the worker come to the end."""
        self.faults.active = False
        self.faults.note("-- no more faults")
        self.end_rival()
        self.worker.stopped = False
        self.worker.reader.assign(self.worker.reader.everything)
        for _ in range(IDLE_STEPS + int(2 * self.plan.lateness_s)):
            self.worker.driver.step()
            if self.worker.driver.drained:
                break
        self.promises.check_end(self.worker.engine, drained=self.worker.driver.drained)
        self.worker.close()


@cache
def empty_database() -> Path:
    """A database with its tables, to be copied: creating them takes longer than a life."""
    file = Path(tempfile.mkdtemp(prefix="simulation-", dir=fast_place())) / "empty.db"
    engine = open_engine(f"sqlite:///{file}")
    with engine.begin() as connection:
        for statement in WATCH_MEMORY:
            connection.exec_driver_sql(statement)
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
    engine.dispose()
    return file


def fast_place() -> str | None:
    """Memory, where there is such a file system."""
    memory = "/dev/shm"
    return memory if Path(memory).is_dir() else None


@contextmanager
def born(plan: Plan) -> Iterator[Life]:
    """A life before its first record, in a directory of its own."""
    faults = Faults(Random(f"faults {plan.seed}"), plan.rates)
    faults.note(plan)
    with tempfile.TemporaryDirectory(prefix="life-", dir=fast_place()) as directory:
        database = Path(directory) / "state.db"
        shutil.copy(empty_database(), database)
        topic, topics = Topic(plan.partitions), Topics(faults)
        clock = Clock(wall=SLOW_START if plan.slow_clock else START)
        world = World(plan, database, clock, faults, topic, topics)
        promises = Promises(plan, topic, topics)
        world.committed = promises.check_commit
        yield Life(plan, world, promises, Worker(world, "worker 1"))


def live(seed: int, change: Callable[[Plan], Plan] = lambda plan: plan) -> Life:
    """Live the life of a seed to its end."""
    with born(change(draw(seed))) as life:
        life.run()
        return life
