"""One finding of `radarstream doctor`, and how failures become findings."""

import shlex
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from radarstream.schemas.errors import RadarstreamError

KNOCK_S = 1.0


@dataclass(frozen=True, slots=True)
class Check:
    """One finding; `remedy` says how to mend what is missing."""

    name: str
    ok: bool
    found: str
    remedy: str = ""


def attempt(name: str, try_out: Callable[[], str], remedy: str) -> Check:
    """Turn a failure into a finding; what the error itself knows to mend it comes first."""
    try:
        return Check(name, True, try_out())
    except RadarstreamError as error:
        return Check(name, False, str(error), error.remedy or remedy)


def command(words: str, config: Path | None) -> str:
    """A command to be typed, on the settings file that doctor was given."""
    given = f" --config {shlex.quote(str(config))}" if config else ""
    return f"radarstream {words}{given}"


def answers(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    try:
        socket.create_connection((host, port), KNOCK_S).close()
    except OSError:
        return False
    return True
