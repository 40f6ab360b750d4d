"""Progress of long work: a bar on a terminal, plain lines otherwise, both with an estimate."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from threading import Event, Thread
from time import perf_counter
from typing import NamedTuple

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from radarstream.pipelines.cli.terminal import note, stderr
from radarstream.schemas.shown import one_line

BAR_SECONDS = 0.5
LINE_SECONDS = 30.0


class State(NamedTuple):
    """How far work is: units that are done, and seconds that it may still take, if known."""

    doing: str
    done: int
    total: int
    seconds_left: float | None

    @property
    def left(self) -> str:
        """How long it may still take, in words."""
        seconds = self.seconds_left
        return "" if seconds is None else f"about {timedelta(seconds=round(seconds))} left"


@contextmanager
def shown(look: Callable[[], State]) -> Iterator[None]:
    """Show the state of the enclosed work while it runs."""
    finished = Event()
    show = _show_bar if stderr.is_terminal else _show_lines
    watcher = Thread(target=show, args=(look, finished), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()


def counted(doing: str, total: int, done: Callable[[], int]) -> AbstractContextManager[None]:
    """Show work whose units take about the same time each, which begins now."""
    started = perf_counter()

    def look() -> State:
        count, seconds = min(done(), total), perf_counter() - started
        return State(doing, count, total, (total - count) * seconds / count if count else None)

    return shown(look)


def _show_bar(look: Callable[[], State], finished: Event) -> None:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=stderr, transient=True) as bar:
        task = bar.add_task("", total=look().total, left="")
        while not finished.wait(BAR_SECONDS):
            state = look()
            doing = one_line(state.doing, 60)
            bar.update(task, description=doing, completed=state.done, left=state.left)


def _show_lines(look: Callable[[], State], finished: Event) -> None:
    printed = -1
    while not finished.wait(LINE_SECONDS):
        state = look()
        if state.done != printed:  # a slow model needs more than one line for one answer
            printed = state.done
            note(f"{state.done}/{state.total} {state.doing} {state.left}")
