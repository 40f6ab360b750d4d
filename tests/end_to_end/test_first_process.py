"""The first process of a container ends when it is asked to, also while it is still importing."""

import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.pipelines.job.test_waiting import WAITING

UNSHARE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "--")
POOL = "radarstream.pipelines.beam.cluster.worker_pool"
RADARSTREAM = ("-X", "importtime", "-m", "radarstream")


def denied() -> str:
    """Why no process here can be the first one of a namespace; empty where one can."""
    if shutil.which(UNSHARE[0]) is None:
        return "needs unshare, found none"
    tried = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    return tried.stderr.strip() if tried.returncode else ""


pytestmark = pytest.mark.skipif(bool(denied()), reason=denied())


@contextmanager
def first(directory: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Python as process 1 of a namespace, killed at the end; its exit code is that of `unshare`."""
    command = [*UNSHARE, sys.executable, *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, cwd=directory, text=True, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def say_when(process: subprocess.Popen[str], words: str) -> psutil.Process:
    """The process under `unshare`, after it has printed some words."""
    assert process.stdout is not None
    said = []
    while words not in (line := process.stdout.readline()):
        said.append(line)
        assert line, said
    return psutil.Process(process.pid).children()[0]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)]
)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        *[((*RADARSTREAM, name), 0) for name in ("alert", "attribute", "run", "serve", "watch")],
        (("-X", "importtime", "-m", POOL), 0),
        ((*RADARSTREAM, "tail"), 128),
    ],
    ids=lambda given: given[-1] if isinstance(given, tuple) else None,
)
def test_a_signal_that_comes_during_the_imports_is_not_lost(tmp_path, arguments, code, number):
    soon = "| grpc" if arguments[-1] == POOL else "| typer"
    with first(tmp_path, *arguments) as process:
        say_when(process, soon).send_signal(number)
        said, _ = process.communicate(timeout=60)
        assert process.returncode == (code + number if code else 0), said[-2000:]
        assert "Traceback" not in said


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with first(tmp_path, "-c", WAITING, "--stubborn") as process:
        say_when(process, "ready").send_signal(signal.SIGTERM)
        say_when(process, "stopping").send_signal(signal.SIGTERM)
        assert process.wait(60) == 128 + signal.SIGTERM
