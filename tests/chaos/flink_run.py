"""The chaos run on Flink: everything that runs the job dies, it is stopped, upgraded and rescaled.

The job goes through stages of different parallelism, each resumed from the savepoint of the last.
In every stage the same kinds of processes are killed, in an order that is drawn.
"""

import os
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil

from tests.chaos.arena import Producer, story
from tests.chaos.flink_arena import FlinkArena, now_s, on_flink, outlive
from tests.chaos.run import compare, trickling
from tests.chaos.trials import Outcome, Say, percentile, times

HEALTHY_WITHIN_S = 15.0  # after the death of a task manager
GONE_WITHIN_S = 30.0  # Python workers whose task manager has died


@dataclass(frozen=True)
class Size:
    """How much chaos: kills by kind in all stages together, `rate` in snapshots a second."""

    parallelisms: tuple[int, ...] = (2, 4, 2)
    task_manager_kills: int = 20
    job_manager_kills: int = 3
    worker_kills: int = 4
    pool_kills: int = 2
    longest_pause_s: float = 8.0
    snapshots: int = 40_000  # at most; as many are sent as the chaos takes
    queries: int = 50
    rate: float = 20.0
    seed: int = 0


SHORT = Size(
    parallelisms=(2, 4),
    task_manager_kills=2,
    job_manager_kills=1,
    worker_kills=1,
    pool_kills=1,
    longest_pause_s=4.0,
)


@dataclass
class Chaos:
    """Kills what runs a job and waits until it works again."""

    flink: FlinkArena
    random: Random
    healthy_s: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    load: list[float] = field(default_factory=list)
    workers_left: int = 0
    orphans: list[psutil.Process] = field(default_factory=list)

    @property
    def kinds(self) -> dict[str, Callable[[], float]]:
        """How each kind of process is killed; the functions return when it died."""
        return {
            "task manager": self.kill_task_manager,
            "job manager": self.flink.kill_job_manager,
            "Python worker": lambda: self.flink.kill_worker(self.random),
            "worker pool": self.flink.kill_pool,
        }

    def strike(self, kind: str) -> float:
        """Kill one of a kind, wait until the job is healthy, and return the seconds."""
        self.load.append(os.getloadavg()[0])
        death_s = self.kinds[kind]()
        self.healthy_s[kind].append(self.flink.healthy_after(death_s))
        left = outlive(self.orphans, GONE_WITHIN_S - (now_s() - death_s))
        self.workers_left, self.orphans = self.workers_left + left, []
        return self.healthy_s[kind][-1]

    def kill_task_manager(self) -> float:
        """Kill a task manager; its Python workers must end by themselves."""
        death_s, self.orphans = self.flink.kill_task_manager(self.random)
        return death_s

    def change(self, parallelism: int) -> float:
        """Stop with a savepoint and go on with a parallelism; return the seconds until answers."""
        began_s = now_s()
        self.flink.rescale(parallelism)
        self.healthy_s["stop and resume"].append(self.flink.healthy_after(began_s))
        return self.healthy_s["stop and resume"][-1]


def run_flink(size: Size, directory: Path, say: Say) -> Outcome:
    """Run all stages in a directory of their own and compare with an undisturbed run."""
    began = time.monotonic()
    with on_flink(directory) as flink:
        snapshots = story(size.snapshots, size.queries)
        producer = Producer(flink.arena.options, list(snapshots))
        chaos = Chaos(flink, Random(size.seed))
        with trickling(producer, size.rate, size.snapshots):
            flink.submit(size.parallelisms[0])
            flink.healthy_after(0.0)
            for number, kinds in enumerate(stages(size, chaos.random)):
                if number:
                    took = chaos.change(size.parallelisms[number])
                    say(f"parallelism {size.parallelisms[number]}: answers after {took:.1f} s")
                disturb(size, chaos, kinds, say)
        published = snapshots[: len(snapshots) - len(producer.waiting)]
        say(f"finishing {len(published)} snapshots")
        flink.until_answered(len(published))
        flink.cancel()
        found = compare(flink.arena, published, flink.server.new_database(), say)
    managers = chaos.healthy_s.get("task manager", [])
    sound = max(managers, default=0.0) <= HEALTHY_WITHIN_S and not chaos.workers_left
    figures = {
        "findings": found.as_rows(),
        **{f"healthy after: {kind}": times(seconds) for kind, seconds in chaos.healthy_s.items()},
        "workers_left": chaos.workers_left,
        "failed_stops": flink.failed_stops,
        "resumed": len(flink.restored_from),
        "load": {"median": percentile(chaos.load, 0.5), "cores": os.cpu_count() or 1},
        "seconds": time.monotonic() - began,
    }
    return Outcome(size, found.sound and sound, figures)


def stages(size: Size, random: Random) -> list[list[str]]:
    """What is killed in which stage, in the order drawn."""
    kinds = ["task manager"] * size.task_manager_kills + ["job manager"] * size.job_manager_kills
    kinds += ["Python worker"] * size.worker_kills + ["worker pool"] * size.pool_kills
    random.shuffle(kinds)
    count = len(size.parallelisms)
    return [kinds[number::count] for number in range(count)]


def disturb(size: Size, chaos: Chaos, kinds: list[str], say: Say) -> None:
    """Strike in this order, each time at a random moment."""
    for number, kind in enumerate(kinds, start=1):
        time.sleep(chaos.random.uniform(0.0, size.longest_pause_s))
        took = chaos.strike(kind)
        say(f"{number} of {len(kinds)}: {kind}, healthy after {took:.1f} s")
