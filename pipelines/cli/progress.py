"""Progress of a replay: a bar with rate and ETA on a terminal, plain lines otherwise."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import perf_counter

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from radarstream.pipelines.cli.terminal import stderr

BAR_SECONDS = 0.25
LINE_SECONDS = 10.0


class RateColumn(ProgressColumn):
    """Documents per second."""

    def render(self, task: Task) -> Text:
        """Show the task's current speed."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.1f}/s", style="dim")


@contextmanager
def progress_of(label: str, total: int, done: Callable[[], int]) -> Iterator[None]:
    """Show how far `done()` has come to `total` while the enclosed work runs."""
    finished = Event()
    show = show_bar if stderr.is_terminal else show_lines
    watcher = Thread(target=show, args=(label, total, done, finished), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()


def show_bar(label: str, total: int, done: Callable[[], int], finished: Event) -> None:
    """Redraw a bar until the work has finished."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=stderr, transient=True) as progress:
        task = progress.add_task(label, total=total)
        while not finished.wait(BAR_SECONDS):
            progress.update(task, completed=min(done(), total))


def show_lines(label: str, total: int, done: Callable[[], int], finished: Event) -> None:
    """Print a line now and then until the work has finished."""
    started = perf_counter()
    while not finished.wait(LINE_SECONDS):
        count, seconds = min(done(), total), perf_counter() - started
        rate = count / seconds
        left = f", about {(total - count) / rate:.0f} s left" if rate and count < total else ""
        stderr.print(f"{label}: {count}/{total} ({rate:.1f}/s{left})", highlight=False)
