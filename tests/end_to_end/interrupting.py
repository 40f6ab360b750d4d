"""Commands that get a signal in the middle of a model call."""

import os
import signal
from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.schemas.prompt import Prompt
from tests.programs import started


def signal_at(call: int, number: signal.Signals, background: bool) -> None:
    """Have the scripted generator signal its process at its CALL-th call, and go on no more."""
    if background:  # what a shell without job control does for "command &"
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    complete, calls = ScriptedGenerator.complete, count(1)

    def signalling(self: ScriptedGenerator, prompts: Sequence[Prompt]) -> Any:
        if next(calls) == call:
            os.kill(os.getpid(), number)
            while True:  # a signal is handled between waits, none of which lasts
                Event().wait(0.1)
        return complete(self, prompts)

    ScriptedGenerator.complete = signalling  # type: ignore[method-assign]


def interrupted(
    directory: Path,
    call: int,
    number: signal.Signals,
    arguments: list[str],
    *,
    background: bool = False,
) -> tuple[int, str]:
    """Exit code and errors of a command that gets a signal at its generator's CALL-th call."""
    out, err = directory / "said", directory / "erred"
    first = partial(signal_at, call, number, background)
    with started(*arguments, out=out, err=err, first=first) as running:
        code = running.wait(60)
    return code, err.read_text()
