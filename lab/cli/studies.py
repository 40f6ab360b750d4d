"""What the `evaluate` commands share: options, settings, and how a study runs in its directory."""

import shlex
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from sqlalchemy.exc import SQLAlchemyError

from radarstream.lab.cli.bars import Bars, parse_bars
from radarstream.lab.cli.bars import judge as judge_bars
from radarstream.lab.cli.evaluation_tables import brief, print_headline, print_tables
from radarstream.lab.cli.kinds import KindOptions, worded
from radarstream.lab.pages.studies import Display
from radarstream.lab.study.datasets import load_dataset
from radarstream.lab.study.frame import check_table, write_table
from radarstream.lab.study.halves import Half
from radarstream.lab.study.harness import REPORT, TABLES, Study, kept_in, opened
from radarstream.lab.study.kind import Kind, Request
from radarstream.pipelines.build import build_models, shared_engine
from radarstream.pipelines.cli.options import AsJson, DryModelOptions, TableFile
from radarstream.pipelines.cli.progress import State, shown
from radarstream.pipelines.cli.terminal import note, print_json, print_path
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.ports import Generator
from radarstream.schemas.errors import ConfigurationError, RadarstreamError
from radarstream.schemas.wording import counted_noun

MESSAGE_CHARACTERS = 4_000


@worded
@dataclass(frozen=True)
class StudyOptions(DryModelOptions):
    """On which data and models a study runs, and what is written and printed besides its report."""

    half: Half = Half.ALL
    limit: int | None = None
    dataset: list[Path] | None = None
    seed: int = 0
    resume: bool = True
    table: TableFile = None
    fail_under: str | None = None
    junit: Path | None = None
    as_json: AsJson = False

    def __post_init__(self) -> None:
        if self.table is not None:
            check_table(self.table)
        bars = self.bars  # wrong ones are refused before anything runs
        if self.junit is not None and not bars:
            raise ConfigurationError("--junit needs --fail-under")

    @property
    def bars(self) -> Bars:
        """The bars that are given. Raises ConfigurationError."""
        return {} if self.fail_under is None else parse_bars(self.fail_under)

    def request(self, own: KindOptions) -> Request:
        """What is asked. A reader by labels asks no model. Raises ConfigurationError."""
        run = replace(self, dry_run=True) if getattr(own, "reader", "") else self
        settings = kept_in(own.out, own.over(run.settings()))
        if not self.dataset:
            raise ConfigurationError("say which --dataset to evaluate on")
        return Request(
            dataset=load_dataset(self.dataset, settings.limits),
            settings=settings,
            half=self.half,
            limit=self.limit,
            seed=self.seed,
            command=command_line(),
        )

    def perform(self, own: KindOptions, display: Display[Any]) -> None:
        """Run a study to its end, have it judged where there is a model for that, write the results
        and print them, as JSON where that is wanted. Raises ContenderFailedError for methods that
        only failed, BarMissedError.
        """
        kind = own.kind(self.request(own))
        judge = judge_model(getattr(own, "judge", ""), kind)
        with opened(kind, own.out, resume=self.resume) as study:
            with conducted(study):
                if judge is not None:
                    study.judge(judge)
                report = display.report(own.out, study.record, study.store)
                if self.table is not None:
                    write_table(report.frame, self.table)
            if self.as_json:
                headline = {"verdict": report.page.sentence, "sentences": report.page.more}
                print_json({"record": study.record, "results": report.stored, "headline": headline})
            else:
                print_tables(map(brief, report.tables))
                print_headline(report.page.sentence, report.page.more)
                print_path("tables", study.out / TABLES)
                print_path("report", study.out / REPORT)
        if failed := study.failed:
            raise ContenderFailedError(f"no answer without an error from {', '.join(failed)}")
        judge_bars(self.bars, report.results, self.junit)


class ContenderFailedError(RadarstreamError):
    """A contender has no answer without an error."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came: the running work ends as it does for Ctrl-C."""


def judge_model(judge: str, kind: Kind) -> Generator | None:
    """The generator that judges, behind the run's cache; None if none is wanted."""
    if judge in ("", "own"):
        return kind.models.generator if judge else None
    engine = shared_engine(kind.request.settings)
    return build_models(load_settings(Path(judge)), engine).generator


def command_line() -> str:
    """The command as it was typed."""
    return shlex.join(["radarstream", *sys.argv[1:]])


@contextmanager
def conducted(study: Study) -> Iterator[None]:
    """Run a study to its end, showing how far it is, then the enclosed code. If either is cut
    short, what is kept is said.
    """
    progress = study.progress
    if progress.answered:
        count = f"{progress.answered} of {progress.wanted}"
        note(f"{count} answers are in {study.out} already", MESSAGE_CHARACTERS)
    if study.uncounted:
        others = counted_noun(study.uncounted, "other question")
        note(
            f"answers to {others} are kept there and not counted: they are beyond --limit or in "
            "the other --half, and count again without these"
        )

    def state() -> State:
        return State(progress.doing, progress.done, progress.total, progress.seconds_left())

    def answers() -> str:
        of = f"{progress.answered} of {progress.wanted}" if progress.wanted else study.held
        return f"{of} answers"

    with _resumable(answers, study.out):
        with shown(state):
            study.run()
        for text in study.record.notes:
            note(f"note: {text}")
        yield


@contextmanager
def _resumable(kept: Callable[[], str], out: Path) -> Iterator[None]:
    """Say what is kept and how to go on when the enclosed work is cut short. Ctrl-C and SIGTERM end
    the command with the code that shells report for them. Errors after which the same command can
    go on also say what is kept.
    """

    def terminate(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    except KeyboardInterrupt as cut:
        _note_kept("interrupted", kept(), out)
        number = signal.SIGTERM if isinstance(cut, Terminated) else signal.SIGINT
        raise typer.Exit(128 + number) from None
    except ConfigurationError:
        raise
    except (RadarstreamError, OSError, SQLAlchemyError):
        _note_kept("stopped by an error", kept(), out)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _note_kept(what: str, kept: str, out: Path) -> None:
    for line in (
        f"{what}: {kept} are kept in {out}",
        f"to go on: {command_line()}",
        f"what there is: radarstream report {shlex.quote(str(out))}",
    ):
        note(line, MESSAGE_CHARACTERS)
