"""Commands that are sent a signal in the middle of a model call."""

import os
import signal
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from select import select
from typing import Any

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.schemas.prompt import Prompt
from tests.programs import Program, started


def block(call: int, reached: Path, gate: Path, background: bool) -> None:
    """Have the scripted generator wait at its CALL-th call.

    There it writes to REACHED, which tells the test where it is, then waits for GATE to be written.
    Both are named pipes, so that neither side ever sleeps.
    """
    if background:  # what a shell without job control does for "command &"
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    complete, calls = ScriptedGenerator.complete, count(1)

    def blocking(self: ScriptedGenerator, prompts: Sequence[Prompt]) -> Any:
        if next(calls) == call:
            opened = os.open(gate, os.O_RDONLY | os.O_NONBLOCK)
            reached.write_text("here")
            # A signal just before a call that blocks would wait for it: none of these blocks long.
            while not select([opened], [], [], 0.1)[0]:
                pass
        return complete(self, prompts)

    ScriptedGenerator.complete = blocking  # type: ignore[method-assign]


def wait_for(reached: Path, running: Program) -> None:
    """Wait until the pipe is written to, for as long as the command runs."""
    pipe = os.open(reached, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while not select([pipe], [], [], 0.1)[0]:
            assert running.poll() is None, "it ended before the call"
    finally:
        os.close(pipe)


def interrupted(
    directory: Path,
    call: int,
    number: signal.Signals,
    arguments: list[str],
    *,
    background: bool = False,
) -> tuple[int, str]:
    """Exit code and error output of a command that got a signal at its generator's CALL-th call."""
    reached, gate = directory / "reached", directory / "gate"
    for pipe in (reached, gate):
        os.mkfifo(pipe)
    first = partial(block, call, reached, gate, background)
    out, err = directory / "said", directory / "erred"
    with started(*arguments, out=out, err=err, first=first) as running:
        wait_for(reached, running)
        running.send_signal(number)
        code = running.wait(60)
    return code, err.read_text()
