"""Signals that come before a command has begun anything: it ends at once.

Taken over before the imports of a command, which last for seconds. The first process of a container
is never killed by a signal that it has not taken over.
"""

import os
import signal
import sys
from functools import cache
from socket import socket, socketpair
from threading import Thread
from types import FrameType
from typing import Final

from radarstream.pipelines.job.stopping import die

# They run until they are stopped, so a stop is no failure.
LASTING: Final = frozenset({"alert", "attribute", "run", "serve", "watch"})
HEARD: Final = b"\nStopping. Ctrl-C once more ends it at once.\n"


def take_signals() -> None:
    """Take over SIGTERM and SIGINT, also where a shell has us ignore SIGINT; on the main thread.

    At a terminal the first Ctrl-C is acknowledged at once, even while a model computes.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    if os.isatty(2):
        answer_at_once()


@cache
def answer_at_once() -> None:
    """Have a thread hear of every signal, whatever the main thread does."""
    heard, told = socketpair()
    told.setblocking(False)
    signal.set_wakeup_fd(told.detach(), warn_on_full_buffer=False)
    Thread(target=acknowledge, args=(heard,), name="acknowledge", daemon=True).start()


def acknowledge(heard: socket) -> None:
    """Say of the first SIGINT among the signals' numbers that it was heard."""
    while signal.SIGINT not in heard.recv(64):
        pass
    os.write(2, HEARD)


def lasting() -> bool:
    """Whether the command of this process runs until it is stopped."""
    return bool(LASTING.intersection(sys.argv[1:2]))


def end(number: int, _frame: FrameType | None) -> None:
    """End with 0 if the command is a lasting one, and as by the signal itself otherwise."""
    if lasting():
        os._exit(0)
    die(number)
