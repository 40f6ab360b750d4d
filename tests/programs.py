"""`radarstream` as processes of its own, forked from one that has imported what takes seconds."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from runpy import run_module, run_path
from tempfile import TemporaryDirectory
from typing import Final

from tests.clocks import until

REPOSITORY: Final = Path(__file__).parents[1]
HEAVY: Final = [
    "radarstream.pipelines.cli.app",
    "radarstream.pipelines.job.answering.running",
    "radarstream.pipelines.job.collecting.collector",
    "radarstream.pipelines.job.incidents.worker",
]
FORKS = get_context("forkserver")
FORKS.set_forkserver_preload(HEAVY)


class Program:
    """A running command: a `subprocess.Popen` of the little that tests need.

    `module`, or the file of one, runs in place of `radarstream`, as with `python -m`; `first` is
    called before.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        directory: Path,
        out: Path,
        err: Path,
        variables: Mapping[str, str],
        module: str = "",
        first: Callable[[], object] = int,
    ) -> None:
        self.out, self.err = out, err
        files = (str(out), str(err))
        environment = dict(os.environ) | variables
        self._process = FORKS.Process(
            target=run, args=(list(arguments), str(directory), files, environment, module, first)
        )
        self._process.start()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout_s: float | None = None) -> int:
        """Its exit code. Raises TimeoutExpired."""
        self._process.join(timeout_s)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("radarstream", timeout_s or 0.0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Nothing if it has ended; its exit code may come later than its end."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def line(self, file: Path, containing: str) -> str:
        """The first whole line with this text in `out` or `err`, once it is there."""

        def lines() -> list[str]:
            written = file.read_text().splitlines(keepends=True) if file.exists() else []
            return [line for line in written if containing in line and line.endswith("\n")]

        until(lines, told=file.read_text)
        return lines()[0]

    def stopped_by(self, number: int) -> int:
        """Its exit code after a signal."""
        self.send_signal(number)
        return self.wait(60)


def run(
    arguments: list[str],
    directory: str,
    files: tuple[str, str],
    environment: dict[str, str],
    module: str,
    first: Callable[[], object],
) -> None:
    """Be the command, in the forked process."""
    for number, file in zip((1, 2), files, strict=True):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(directory)
    sys.argv = [module or "radarstream", *arguments]
    first()
    if module:
        runner = run_path if module.endswith(".py") else run_module
        runner(module, run_name="__main__")
        return
    from radarstream.pipelines.cli.app import main

    main()


def die_at(owner: object, name: str, last: int = 1) -> None:
    """Have this process killed at a call of a function, before its work is done."""
    work, calls = getattr(owner, name), count(1)

    def dying(*given: object, **named: object) -> object:
        if next(calls) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return work(*given, **named)

    setattr(owner, name, dying)


@contextmanager
def started(
    *arguments: str,
    directory: Path | None = None,
    out: Path,
    err: Path | None = None,
    module: str = "",
    first: Callable[[], object] = int,
    **variables: str,
) -> Iterator[Program]:
    """A command, its output in files; it is killed at the end."""
    program = Program(
        arguments,
        directory=directory or Path.cwd(),
        out=out,
        err=err or out,
        variables=variables,
        module=module,
        first=first,
    )
    try:
        yield program
    finally:
        program.kill()
        program.wait()


def done(
    *arguments: object,
    directory: Path | None = None,
    timeout_s: float = 120.0,
    module: str = "",
    **variables: str,
) -> subprocess.CompletedProcess[str]:
    """What a command said and left as its exit code."""
    given = [str(argument) for argument in arguments]
    with TemporaryDirectory() as place:
        out, err = Path(place) / "out", Path(place) / "err"
        running = started(*given, directory=directory, out=out, err=err, module=module, **variables)
        with running as program:
            code = program.wait(timeout_s)
        return subprocess.CompletedProcess(given, code, out.read_text(), err.read_text())
