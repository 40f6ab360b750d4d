"""Stops asking a service that is down, so that work which does not need it goes on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from time import monotonic
from typing import Literal

from radarstream.schemas.errors import ModelOutageError


class CircuitBreaker:
    """Opens after `failures` outages in a row; then one call at a time may try again.

    While open, calls are refused at once. `cool_down_s` after it opened a single call is let
    through: its success closes the circuit, its outage opens it for another `cool_down_s`. Only
    ModelOutageError counts as an outage, and only if the service was asked: one that refuses one
    request works. Usable from several threads; `clock` gives seconds that never go back.

    `opened` counts how often it opened, `refused` the calls that were not let through.
    """

    def __init__(
        self, *, failures: int, cool_down_s: float, clock: Callable[[], float] = monotonic
    ) -> None:
        if failures < 1:
            raise ValueError(f"failures must be positive, got {failures}")
        self._failures = failures
        self._cool_down_s = cool_down_s
        self._clock = clock
        self._lock = Lock()
        self._in_a_row = 0
        self._open_until: float | None = None
        self._probing = False
        self.opened = 0
        self.refused = 0

    @property
    def state(self) -> Literal["closed", "open", "half_open"]:
        """Whether calls are let through: all, none, or one to try."""
        with self._lock:
            return self._state()

    @contextmanager
    def call(self) -> Iterator[None]:
        """Let the enclosed call through and learn from its end. Raises ModelOutageError."""
        probing = self._enter()
        try:
            yield
        except ModelOutageError as outage:
            if outage.asked:
                self._failed()
            elif probing:
                self._given_up()
            raise
        except Exception:
            self._succeeded()  # the service answered, though not with what was wanted
            raise
        except BaseException:
            if probing:
                self._given_up()
            raise
        else:
            self._succeeded()

    def _state(self) -> Literal["closed", "open", "half_open"]:
        if self._open_until is None:
            return "closed"
        return "open" if self._clock() < self._open_until else "half_open"

    def _enter(self) -> bool:
        """Admit a call; whether it is the one that tries a service thought to be down."""
        with self._lock:
            state = self._state()
            if state == "open" or (state == "half_open" and self._probing):
                self.refused += 1
                raise ModelOutageError("circuit open: the model's service has been failing")
            self._probing = state == "half_open"
            return self._probing

    def _succeeded(self) -> None:
        with self._lock:
            self._in_a_row, self._open_until, self._probing = 0, None, False

    def _given_up(self) -> None:
        """End the trying call without a verdict, so that another may try."""
        with self._lock:
            self._probing = False

    def _failed(self) -> None:
        with self._lock:
            self._in_a_row += 1
            self._probing = False
            if self._in_a_row >= self._failures:
                if self._state() != "open":
                    self.opened += 1
                self._open_until = self._clock() + self._cool_down_s
