"""Progress of an evaluation: a bar on a terminal, plain lines otherwise, both with an estimate;
and, when it is cut short, what is done and how to go on.
"""

import shlex
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from threading import Event, Thread
from types import FrameType
from typing import Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from sqlalchemy.exc import SQLAlchemyError

from radarstream.pipelines.cli.terminal import printable, stderr
from radarstream.pipelines.evaluation.study.harness import Study
from radarstream.pipelines.evaluation.study.progress import Progress
from radarstream.pipelines.evaluation.wording import counted_noun
from radarstream.schemas.errors import ConfigurationError, RadarstreamError

BAR_SECONDS = 0.5
LINE_SECONDS = 30.0


class Terminated(KeyboardInterrupt):
    """SIGTERM came: what is under way ends as it does for Ctrl-C."""


@contextmanager
def conducted(study: Study[Any], command: str) -> Iterator[None]:
    """Run a study to its end, showing how far it is. The enclosed code is part of the work that an
    interruption cuts short.
    """
    tell_before(study)

    def kept() -> str:
        return f"{study.progress.answered} of {study.progress.wanted} answers"

    with resumable(kept, study.out, command):
        with shown(study.progress):
            study.run()
        for note in study.record.notes:
            stderr.print(printable(f"note: {note}", 500), markup=False, highlight=False)
        yield


@contextmanager
def resumable(kept: Callable[[], str], out: Path, command: str) -> Iterator[None]:
    """Tell what is kept and how to go on as soon as the enclosed work is cut short.

    Ctrl-C and SIGTERM end the command with the code that shells report for them. Errors that going
    on could mend are told with what is kept, too.
    """
    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt as cut:
        tell_kept("interrupted", kept(), out, command)
        number = signal.SIGTERM if isinstance(cut, Terminated) else signal.SIGINT
        raise typer.Exit(128 + number) from None
    except ConfigurationError:
        raise
    except (RadarstreamError, OSError, SQLAlchemyError):
        tell_kept("stopped by an error", kept(), out, command)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def terminate(_number: int, _frame: FrameType | None) -> None:
    """Stop like Ctrl-C does."""
    raise Terminated


def tell_before(study: Study[Any]) -> None:
    """Tell what earlier runs into the directory have left."""
    done, wanted = study.progress.answered, study.progress.wanted
    if done:
        tell(f"{done} of {wanted} answers are in {study.out} already")
    if study.uncounted:
        others = counted_noun(study.uncounted, "other question")
        tell(
            f"answers to {others} are kept there and not counted: they are beyond --limit, and "
            "count again without it"
        )


def tell_kept(what: str, kept: str, out: Path, command: str) -> None:
    """Tell what there is, and which commands go on and show it."""
    tell(f"{what}: {kept} are kept in {out}")
    tell(f"to go on: {command}")
    tell(f"what there is: radarstream report {shlex.quote(str(out))}")


def tell(text: str) -> None:
    """Print a line that may be copied."""
    stderr.print(printable(text, 4_000), markup=False, highlight=False, soft_wrap=True)


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
