"""Signals before a command has begun: it ends at once. Taken over before the imports, which last
for seconds, also in a container's first process, which no untaken signal kills.
"""

import os
import signal
import sys
from types import FrameType
from typing import Final

from radarstream.pipelines.job.stopping import die

# They run until they are stopped, so a stop is no failure.
LASTING: Final = frozenset({"alert", "attribute", "run", "serve", "watch"})


def take_signals() -> None:
    """Take over SIGTERM and SIGINT, also where a shell has us ignore SIGINT; on the main thread."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)


def lasting() -> bool:
    """Whether the command of this process runs until it is stopped."""
    return bool(LASTING.intersection(sys.argv[1:2]))


def end(number: int, _frame: FrameType | None) -> None:
    """End with 0 if the command is a lasting one, and as by the signal itself otherwise."""
    if lasting():
        os._exit(0)
    die(number)
