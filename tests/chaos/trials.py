"""What a chaos run consists of: trials, each with a full and a short size, and what they found."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.engines.artifacts import missing
from tests.postgresql import server_binaries

Say = Callable[[str], None]


class Outcome(Protocol):
    """What a trial found."""

    @property
    def sound(self) -> bool:
        """Whether everything that must hold does."""

    def rows(self) -> dict[str, str]:
        """What a table for people shows."""

    def record(self) -> dict[str, Any]:
        """What is kept as JSON, settings included."""


@dataclass(frozen=True)
class Trial:
    """One part of a run. `run` takes a size with a `seed`, an empty directory and `Say`.

    `needs` says why it cannot run on this machine; empty where it can.
    """

    run: Callable[[Any, Path, Say], Outcome]
    full: Any
    short: Any
    needs: Callable[[], str] = str


def needs_postgresql() -> str:
    """Why there is no PostgreSQL to kill; empty where there is."""
    return "" if server_binaries() else "no PostgreSQL to kill: install pgserver"


def needs_kafka() -> str:
    """Why Apache Kafka on PostgreSQL cannot be started; empty where it can."""
    return missing("kafka") or needs_postgresql()


def needs_flink() -> str:
    """Why Flink with Apache Kafka and PostgreSQL cannot be started; empty where it can."""
    return missing("kafka", "flink", "job-server") or needs_postgresql()
