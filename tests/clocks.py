"""Time that passes only when somebody waits; waiting for others; threads that start together."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import TypeVar

ResultT = TypeVar("ResultT")


@dataclass
class FakeClock:
    """`seconds` have passed since `start`; `stopped` cuts pauses short."""

    start: datetime = datetime(2025, 6, 1, tzinfo=UTC)
    seconds: float = 0.0
    stopped: bool = False
    pauses: list[float] = field(default_factory=list)

    def now(self) -> datetime:
        return self.start + timedelta(seconds=self.seconds)

    def monotonic(self) -> float:
        return self.seconds

    def wait(self, seconds: float) -> None:
        self.pauses.append(seconds)
        if not self.stopped:
            self.seconds += seconds


def until(
    condition: Callable[[], object],
    timeout_s: float = 60.0,
    told: Callable[[], object] = lambda: "waited in vain",
) -> None:
    """Wait for what another thread or process brings about.

    Raises AssertionError with what is `told` then.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, told()
        time.sleep(0.02)


def at_once(work: Callable[[int], ResultT], threads: int) -> list[ResultT]:
    """What each of several threads gets that start together."""
    barrier = Barrier(threads)

    def one(number: int) -> ResultT:
        barrier.wait(20)
        return work(number)

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(threads)))
