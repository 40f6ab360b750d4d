"""What a chaos run consists of: trials, each with a full and a short size, and what they found."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.engines.artifacts import missing
from tests.postgresql import server_binaries

Say = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """What a trial found: whether all that must hold does, and its figures by name."""

    size: Any
    sound: bool
    figures: Mapping[str, Any]

    def rows(self) -> Iterator[tuple[str, str]]:
        """What a table for people shows."""
        for name, value in self.figures.items():
            parts = value.items() if isinstance(value, Mapping) else [("", value)]
            for part, one in parts:
                told = f"{one:.3g}" if isinstance(one, float) else str(one)
                yield f"{name}: {part}".removesuffix(": ").replace("_", " "), told

    def record(self) -> dict[str, Any]:
        """What is kept as JSON, settings included."""
        return {"settings": asdict(self.size), "sound": self.sound, **self.figures}


def times(seconds: Sequence[float]) -> dict[str, float]:
    """How many there are, the median and the longest."""
    longest = max(seconds, default=0.0)
    return {"count": len(seconds), "median_s": percentile(seconds, 0.5), "longest_s": longest}


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which this share of them lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


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
