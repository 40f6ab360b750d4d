"""Signals and time of a long-lived process."""

import signal
from datetime import UTC, datetime
from threading import Event
from time import monotonic
from types import FrameType


class Stop:
    """A wish to stop, raised by SIGTERM or SIGINT; a second one ends the process at once."""

    def __init__(self) -> None:
        self.event = Event()
        self.reload = Event()

    def __call__(self) -> bool:
        """Whether somebody asked to stop."""
        return self.event.is_set()

    def install(self) -> None:
        """Take over the signals of this process; call in the main thread.

        SIGHUP asks to reload and wakes whoever waits.
        """
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGHUP, self._reload)

    def _stop(self, number: int, _: FrameType | None) -> None:
        if self.event.is_set():
            signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
        self.event.set()

    def _reload(self, _number: int, _: FrameType | None) -> None:
        self.reload.set()


class SystemClock:
    """The machine's clocks; a pause ends when the process is asked to stop."""

    def __init__(self, stop: Stop) -> None:
        self.stop = stop

    def now(self) -> datetime:
        """Return the wall clock in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds since some moment."""
        return monotonic()

    def wait(self, seconds: float) -> None:
        """Pause."""
        self.stop.event.wait(seconds)
