"""Work in threads of its own: what a loop that is busy for minutes cannot do."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from threading import Event, Thread
from typing import Final, TypeVar

import structlog

from radarstream.pipelines.job.stopping import AskedToStopError

ResultT = TypeVar("ResultT")
LOOK_S: Final = 0.05  # how soon a wish to stop is noticed
PATIENCE_S: Final = 1.0  # for work in hand at the end

log = structlog.get_logger("radarstream")


@contextmanager
def repeating(
    name: str,
    work: Callable[[], object],
    every_s: float,
    at_end: Callable[[], object] = lambda: None,
) -> Iterator[None]:
    """Do `work` at once and every so many seconds until the context ends, then what is `at_end`.

    Its failures are logged, the first of a series, and change nothing. Work that hangs at the end
    is left behind: it ends with the process.
    """
    over = Event()

    def run() -> None:
        failing = False
        while not over.is_set():
            try:
                work()
                failing = False
            except Exception as error:  # noqa: BLE001 it must go on, whatever a library raises
                if not failing:
                    log.warning("background work fails", stage=name, error=error)
                failing = True
            over.wait(every_s)
        at_end()

    thread = Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(PATIENCE_S)


def unless_stopped(work: Callable[[], ResultT], stopping: Callable[[], bool]) -> ResultT:
    """Return what `work` returns, or raise what it raises; AskedToStopError as soon as asked to.

    What cannot be interrupted, such as a connection that is being made, is left behind then.
    """
    outcome: Future[ResultT] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # noqa: BLE001 raised again by whoever waits
            outcome.set_exception(error)

    Thread(target=run, name="waiting", daemon=True).start()
    while not outcome.done():
        if stopping():
            raise AskedToStopError
        wait([outcome], timeout=LOOK_S)
    return outcome.result()
