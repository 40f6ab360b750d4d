"""Signals and time of a long-lived process."""

import os
import signal
from queue import SimpleQueue
from threading import Event, Thread
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from radarstream.schemas.times import Clock


class AskedToStopError(Exception):
    """The process was asked to stop before its work began."""


class Stop:
    """A request to stop, by SIGTERM or SIGINT; a second one ends the process. A thread sets `event`
    and `reload`, because setting them in a signal handler could deadlock.
    """

    def __init__(self) -> None:
        self.event = Event()
        self.reload = Event()
        self._asked = False
        self._signals: SimpleQueue[int] = SimpleQueue()  # `put` is safe in signal handlers

    def __call__(self) -> bool:
        """Whether the process was asked to stop."""
        return self.event.is_set()

    @property
    def clock(self) -> "Clock":
        """The system's clock; a request to stop ends its pauses."""
        from radarstream.schemas.times import SystemClock  # slow to import: after `install`

        return SystemClock(self.event.wait)

    def install(self) -> None:
        """Handle the signals of this process; call in the main thread. SIGHUP sets `reload`."""
        Thread(target=self._pass_on, name="signals", daemon=True).start()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self._handle)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP:
            self._signals.put(number)
        elif self._asked:
            die(number)
        else:
            self._asked = True
            self._signals.put(number)

    def _pass_on(self) -> None:
        while True:
            reload = self._signals.get() == signal.SIGHUP
            (self.reload if reload else self.event).set()


def die(number: int) -> None:
    """End this process by a signal, even as PID 1 of a container, which ignores its own signals."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    os._exit(128 + number)
