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
    """Somebody asked to stop before there was anything to finish."""


class Stop:
    """A wish to stop, by SIGTERM or SIGINT; a second one ends the process. A thread sets `event`
    and `reload`: set in a handler they could deadlock.
    """

    def __init__(self) -> None:
        self.event = Event()
        self.reload = Event()
        self._asked = False
        self._signals: SimpleQueue[int] = SimpleQueue()  # made to be filled by handlers

    def __call__(self) -> bool:
        """Whether somebody asked to stop."""
        return self.event.is_set()

    @property
    def clock(self) -> "Clock":
        """The machine's clocks; a pause ends when somebody asks to stop."""
        from radarstream.schemas.times import SystemClock  # with libraries, when signals are ours

        return SystemClock(self.event.wait)

    def install(self) -> None:
        """Take over the signals of this process; call in the main thread. SIGHUP asks to reload."""
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
    """End this process as a signal does, also the first of a container, which survives its own."""
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)
    os._exit(128 + number)
