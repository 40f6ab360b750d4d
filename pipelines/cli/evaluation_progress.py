"""Progress of an evaluation: a bar on a terminal, plain lines otherwise, both with an estimate."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from threading import Event, Thread

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar

from pipelines.cli.terminal import printable, stderr
from pipelines.evaluation.experiment.progress import Progress

BAR_SECONDS = 0.5
LINE_SECONDS = 30.0


@contextmanager
def shown(progress: Progress) -> Iterator[None]:
    """Show the progress while the enclosed work runs."""
    finished = Event()
    show = show_bar if stderr.is_terminal else show_lines
    watcher = Thread(target=show, args=(progress, finished), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()


def show_bar(progress: Progress, finished: Event) -> None:
    """Redraw a bar until the work has finished."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=stderr, transient=True) as bar:
        task = bar.add_task("", total=progress.total, left="")
        while not finished.wait(BAR_SECONDS):
            bar.update(
                task,
                description=printable(progress.doing, 60),
                completed=progress.done,
                left=left_words(progress),
            )


def show_lines(progress: Progress, finished: Event) -> None:
    """Print a line now and then until the work has finished."""
    while not finished.wait(LINE_SECONDS):
        text = f"{progress.done}/{progress.total} {progress.doing} {left_words(progress)}"
        stderr.print(printable(text), highlight=False, markup=False, soft_wrap=True)


def left_words(progress: Progress) -> str:
    """How long it may still take."""
    seconds = progress.seconds_left()
    return "" if seconds is None else f"about {timedelta(seconds=round(seconds))} left"
