"""How much one user may ask for: token buckets in the memory of this process."""

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Final

KNOWN: Final = 10_000  # names whose buckets are kept; the one idle for longest is forgotten


class Buckets:
    """A bucket of tokens per name: full at first, refilled evenly, one token a request.

    Each process has its own, so N processes allow N times as much. Call it from one thread.
    """

    def __init__(self, per_minute: float, now: Callable[[], float] = monotonic) -> None:
        self._size, self._per_second, self._now = per_minute, per_minute / 60.0, now
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str) -> float:
        """Take a token. Returns 0, or the seconds until there is one."""
        now = self._now()
        level, then = self._levels.pop(name, (self._size, now))
        level = min(self._size, level + (now - then) * self._per_second)
        wait = 0.0 if level >= 1.0 else (1.0 - level) / self._per_second
        self._levels[name] = (level if wait else level - 1.0, now)
        if len(self._levels) > KNOWN:
            self._levels.popitem(last=False)
        return wait

    def empty(self, name: str) -> float:
        """The seconds until there is a token; 0 if there is one. Takes none."""
        level, then = self._levels.get(name, (self._size, self._now()))
        level = min(self._size, level + (self._now() - then) * self._per_second)
        return 0.0 if level >= 1.0 else (1.0 - level) / self._per_second
