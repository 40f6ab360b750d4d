"""Whether checkpoints of an endless job on Flink complete in time and do not grow."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from tests.chaos.arena import Producer, story
from tests.chaos.flink_arena import CHECKPOINT_S, FlinkArena, on_flink
from tests.chaos.run import trickling
from tests.chaos.trials import Say

ASKED_EVERY_S = 5.0  # Flink keeps the last ten checkpoints
LONGEST_GAP_S = 3 * CHECKPOINT_S


@dataclass(frozen=True)
class Size:
    """How long to watch, a parallelism after the other; `warm_up_minutes` of each do not count."""

    parallelisms: tuple[int, ...] = (2,)
    minutes: float = 60.0
    warm_up_minutes: float = 5.0
    queries: int = 50
    rate: float = 20.0
    seed: int = 0


SHORT = Size(parallelisms=(1, 2, 4), minutes=3.0, warm_up_minutes=1.0)


@dataclass(frozen=True)
class Checkpoint:
    """A completed checkpoint: when it was triggered, how long it took, bytes in all and by step."""

    number: int
    triggered_s: float
    seconds: float
    state_bytes: int
    bytes_by_step: Mapping[str, int]


@dataclass(frozen=True)
class Slope:
    """Growth in bytes a minute with its 95 % interval."""

    per_minute: float
    low: float
    high: float

    @property
    def grows(self) -> bool:
        """Whether zero is below the interval."""
        return self.low > 0.0


@dataclass(frozen=True)
class Watched:
    """What was seen of one job: all its completed checkpoints, those that failed, its answers."""

    parallelism: int
    checkpoints: Sequence[Checkpoint]
    failed: int
    sent: int
    answered: int
    warm_up_minutes: float

    @property
    def counted(self) -> list[Checkpoint]:
        """Those after the warm-up."""
        start_s = self.checkpoints[0].triggered_s + 60.0 * self.warm_up_minutes
        return [c for c in self.checkpoints if c.triggered_s >= start_s]

    @property
    def slope(self) -> Slope:
        minutes = np.array([c.triggered_s / 60.0 for c in self.counted])
        return slope_of(minutes, np.array([float(c.state_bytes) for c in self.counted]))

    @property
    def longest_gap_s(self) -> float:
        """The longest time between the triggers of two completed checkpoints."""
        return float(np.diff([c.triggered_s for c in self.checkpoints]).max())

    @property
    def sound(self) -> bool:
        return not self.slope.grows and self.longest_gap_s <= LONGEST_GAP_S

    def rows(self) -> dict[str, str]:
        slope, sizes = self.slope, [c.state_bytes for c in self.counted]
        last = self.counted[-1].bytes_by_step
        growth = f"{slope.per_minute:,.0f} [{slope.low:,.0f}, {slope.high:,.0f}]"
        figures = {
            "checkpoints": f"{len(self.checkpoints)}, {self.failed} failed",
            "longest time between two": f"{self.longest_gap_s:.0f} s",
            "bytes": f"median {np.median(sizes):,.0f}, {min(sizes):,} to {max(sizes):,}",
            "growth, bytes a minute": growth,
            "answered": f"{self.answered} of {self.sent}",
            **{f"bytes at the end: {step}": f"{size:,}" for step, size in last.items()},
        }
        return {f"parallelism {self.parallelism}: {name}": v for name, v in figures.items()}

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"slope": asdict(self.slope), "longest_gap_s": self.longest_gap_s}


@dataclass(frozen=True)
class Outcome:
    """One job after the other."""

    size: Size
    watched: Sequence[Watched]
    seconds: float

    @property
    def sound(self) -> bool:
        return all(job.sound for job in self.watched)

    def rows(self) -> dict[str, str]:
        found = {name: value for job in self.watched for name, value in job.rows().items()}
        return found | {"seconds": f"{self.seconds:.0f}"}

    def record(self) -> dict[str, Any]:
        return {
            "settings": asdict(self.size),
            "sound": self.sound,
            "jobs": [job.record() for job in self.watched],
            "seconds": self.seconds,
        }


def slope_of(minutes: np.ndarray, sizes: np.ndarray) -> Slope:
    """Least squares; the interval is widened for residuals that resemble the ones before them.

    The number of independent residuals is n (1 - r) / (1 + r), r their autocorrelation at lag one
    where it is positive (B. D. Santer et al., J. Geophys. Res. 105, 2000).

    >>> slope_of(np.arange(30.0), 5.0 + 2.0 * np.arange(30.0) + np.tile([1.0, -1.0], 15)).grows
    True
    """
    line = stats.linregress(minutes, sizes)
    rest = sizes - line.intercept - line.slope * minutes
    spread = float(rest @ rest)
    if not spread:
        return Slope(float(line.slope), float(line.slope), float(line.slope))
    r = max(0.0, float(rest[1:] @ rest[:-1]) / spread)
    free = max(1.0, len(sizes) * (1 - r) / (1 + r) - 2)
    error = line.stderr * ((len(sizes) - 2) / free) ** 0.5
    half = float(stats.t.ppf(0.975, free) * error)
    return Slope(float(line.slope), float(line.slope) - half, float(line.slope) + half)


def run_checkpoints(size: Size, directory: Path, say: Say) -> Outcome:
    """Watch one endless job of each parallelism, each in a directory of its own."""
    began = time.monotonic()
    watched = []
    for parallelism in size.parallelisms:
        with on_flink(directory / str(parallelism)) as flink:
            watched.append(watch(size, parallelism, flink, say))
    return Outcome(size, watched, time.monotonic() - began)


def watch(size: Size, parallelism: int, flink: FlinkArena, say: Say) -> Watched:
    """Let a job work for as long as the size says and keep every completed checkpoint."""
    seconds = 60.0 * size.minutes
    total = int(seconds * size.rate)
    producer = Producer(flink.arena.options, story(total, size.queries))
    seen: dict[int, Checkpoint] = {}
    failed = 0
    with trickling(producer, size.rate, total):
        flink.submit(parallelism)
        steps = {vertex["id"]: vertex["name"] for vertex in flink.ask()["vertices"]}
        deadline = time.monotonic() + seconds
        said = 0
        while time.monotonic() < deadline:
            time.sleep(ASKED_EVERY_S)
            for told in flink.cluster.checkpoints(flink.job):
                if told["id"] not in seen:
                    seen[told["id"]] = checkpoint(flink, told, steps)
            failed = flink.ask("/checkpoints")["counts"]["failed"]
            if len(seen) >= said + 30:
                said = len(seen)
                say(f"parallelism {parallelism}: {said} checkpoints, {last_size(seen):,} bytes")
    sent = total - len(producer.waiting)
    ordered = [seen[number] for number in sorted(seen)]
    return Watched(
        parallelism, ordered, failed, sent, len(flink.listener.ids), size.warm_up_minutes
    )


def last_size(seen: Mapping[int, Checkpoint]) -> int:
    """Bytes of the newest checkpoint."""
    return seen[max(seen)].state_bytes


def checkpoint(flink: FlinkArena, told: Mapping[str, Any], steps: Mapping[str, str]) -> Checkpoint:
    """A completed checkpoint with the size of each step's state."""
    detail = flink.ask(f"/checkpoints/details/{told['id']}")
    sizes: dict[str, int] = {}
    for vertex, task in detail["tasks"].items():
        sizes[steps[vertex]] = sizes.get(steps[vertex], 0) + int(task["state_size"])
    return Checkpoint(
        told["id"],
        told["trigger_timestamp"] / 1_000,
        told["end_to_end_duration"] / 1_000,
        int(told["state_size"]),
        sizes,
    )
