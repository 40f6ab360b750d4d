"""Requests spaced by a token bucket, so that an account's hourly throughput is kept."""

from typing import Protocol

SLACK_S = 0.01  # a clock's pause may end this much early


class PauseClock(Protocol):
    """What pausing needs of a clock."""

    def monotonic(self) -> float:
        """Seconds since some moment, never going back."""
        ...

    def wait(self, seconds: float) -> None:
        """Pause; returns early when the process is asked to stop."""
        ...


def paused(clock: PauseClock, seconds: float) -> bool:
    """Pause; False when the pause was cut short."""
    until = clock.monotonic() + seconds
    clock.wait(seconds)
    return clock.monotonic() >= until - SLACK_S


class TokenBucket:
    """At most `burst` requests at once and `per_hour` an hour after that."""

    def __init__(self, clock: PauseClock, *, per_hour: int, burst: int) -> None:
        self._clock = clock
        self._rate = per_hour / 3600.0
        self._burst = float(burst)
        self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    def take(self) -> bool:
        """Wait for a token and take it; False when the wait was cut short."""
        self._fill()
        if self._tokens < 1.0:
            if not paused(self._clock, self.seconds_until_token()):
                return False
            self._fill()
        self._tokens = max(0.0, self._tokens - 1.0)
        return True

    def seconds_until_token(self) -> float:
        """Return how long `take` would wait now."""
        self._fill()
        return max(0.0, (1.0 - self._tokens) / self._rate)

    def _fill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
