"""Stops calls to a service that is down, so that other work continues."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock
from time import monotonic
from typing import Literal

from radarstream.schemas.errors import ModelOutageError


class CircuitBreaker:
    """Opens after `failures` successive outages, and then refuses calls at once.

    `cool_down_s` later it lets a single call through, whose success closes the circuit, and whose
    outage opens it for another `cool_down_s`. Only a ModelOutageError of a service that was asked
    is an outage; a service that refuses one request works. Thread-safe. `service` is the name in
    errors, `clock` gives seconds that never decrease. `opened` counts how often the circuit opened,
    `refused` the refused calls.
    """

    def __init__(
        self,
        *,
        failures: int,
        cool_down_s: float,
        service: str = "the model's service",
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if failures < 1:
            raise ValueError(f"failures must be positive, got {failures}")
        self._failures = failures
        self._cool_down_s = cool_down_s
        self._service = service
        self._clock = clock
        self._lock = RLock()
        self._in_a_row = 0
        self._open_until: float | None = None
        self._probing = False
        self.opened = 0
        self.refused = 0

    @property
    def state(self) -> Literal["closed", "open", "half_open"]:
        """Whether it lets all calls through, none, or one."""
        with self._lock:
            if self._open_until is None:
                return "closed"
            return "open" if self._clock() < self._open_until else "half_open"

    @contextmanager
    def call(self) -> Iterator[None]:
        """Let the enclosed call through and note its outcome, or raise ModelOutageError."""
        with self._lock:
            state = self.state
            if state == "open" or (state == "half_open" and self._probing):
                self.refused += 1
                raise ModelOutageError(f"circuit open: {self._service} has been failing")
            probing = self._probing = state == "half_open"
        works: bool | None = None  # unknown
        try:
            yield
            works = True
        except ModelOutageError as outage:
            works = False if outage.asked else None
            raise
        except Exception:
            works = True  # the service answered
            raise
        finally:
            with self._lock:
                self._learn(works, probing)

    def _learn(self, works: bool | None, probing: bool) -> None:
        if works:
            self._in_a_row, self._open_until, self._probing = 0, None, False
            return
        if works is False or probing:
            self._probing = False  # another may try
        if works is False:
            self._in_a_row += 1
            if self._in_a_row >= self._failures:
                self.opened += self.state != "open"
                self._open_until = self._clock() + self._cool_down_s
