"""Extracts the text of pages and documents in a process of its own, which hostile ones may crash.

The process is started with `subprocess`, not forked, because ours has threads. It serves many
pages, and is started again after a crash. It gets no environment, so that a page that takes it
over finds no secrets.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from threading import Event, Timer
from time import monotonic
from typing import Final

from radarstream.connectors.closing import Closing
from radarstream.connectors.webpages.media import Kind
from radarstream.connectors.webpages.options import PageError, PageOptions, Raw

MODULE: Final = "radarstream.connectors.webpages.extraction"
START_S: Final = 60.0  # timeout of the start; it takes half a second, more on a busy machine
CLOCK_FACTOR: Final = 4  # by which wall-clock time may exceed processor time, on busy machines
DYING_S: Final = 1.0  # between the end of a connection and that of its process
PAGES: Final = 500  # of one process, because extractors leak memory
READY, TEXT, FAILED = b"ready", b"+", b"-"  # the first message, and the marks of a text or error
OVERLOADED: Final = FAILED + b"parse_memory"  # the last message
TIME, CRASH = "parse_time", "parse_crash"


class Sandbox(Closing):
    """Runs one process at a time, started for the first page. Not thread-safe."""

    def __init__(self, options: PageOptions) -> None:
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._served = 0

    def text(self, kind: Kind, raw: Raw, seconds: float = inf) -> str:
        """Extract a text, with a form feed after each page of a PDF; "" for HTML without text.

        It takes at most `seconds` by the clock, and the time of the options. Raises PageError:
        encrypted, scanned, bomb, damaged, media_type, parse_time, parse_memory, parse_crash.
        """
        until = monotonic() + seconds
        parts = (kind.encode(), raw.charset.encode(errors="replace"), raw.data)
        try:
            reply = self._exchange(parts, seconds)
        except PageError as error:
            if str(error) != CRASH:
                raise
            reply = self._exchange(parts, until - monotonic())  # others may have killed the process
        if reply[:1] == TEXT:
            return reply[1:].decode(errors="replace")
        raise PageError(reply[1:].decode(errors="replace"))

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if process is not None:
            process.kill()
            process.wait()

    def _exchange(self, parts: Sequence[bytes], seconds: float) -> bytes:
        late, allowed = Event(), CLOCK_FACTOR * self._options.parse_seconds
        try:
            process, connection = self._running()
            with _ended_after(min(allowed, seconds), process, late):
                for part in parts:
                    connection.send_bytes(part)
                reply = connection.recv_bytes(self._options.text_bytes + 1)
        except (EOFError, OSError):
            raise PageError(self._cause_of_death(late)) from None
        self._served += 1
        if late.is_set() or self._served >= PAGES or reply == OVERLOADED:
            self.close()
        return reply

    def _running(self) -> tuple[subprocess.Popen[bytes], Connection]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None or self._connection is None:
            self._connection, theirs = Pipe()
            with theirs:
                self._process = _started(theirs.fileno(), self._options)
            self._served = 0
            if not self._connection.poll(START_S) or self._connection.recv_bytes() != READY:
                raise EOFError
        return self._process, self._connection

    def _cause_of_death(self, late: Event) -> str:
        process = self._process
        with suppress(subprocess.TimeoutExpired):
            if process is not None:
                process.wait(DYING_S)
        self.close()
        code = process.returncode if process is not None else None
        return TIME if late.is_set() or code == -signal.SIGXCPU else CRASH


def _started(socket: int, options: PageOptions) -> subprocess.Popen[bytes]:
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return subprocess.Popen(  # noqa: S603 ourselves
        [sys.executable, "-m", MODULE, str(socket), options.model_dump_json()],
        env=kept | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=[socket],
        start_new_session=True,  # Ctrl-C must not end it while we finish a snapshot
    )


@contextmanager
def _ended_after(seconds: float, process: subprocess.Popen[bytes], late: Event) -> Iterator[None]:
    """Kill the process after `seconds`, which ends reading from it and writing to it."""

    def end() -> None:
        late.set()
        process.kill()

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
