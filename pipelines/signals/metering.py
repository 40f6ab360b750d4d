"""Counts the model calls and seconds of each stage."""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import Any, Protocol, TypeVar, runtime_checkable

from radarstream.defenses.protocol import Request
from radarstream.pipelines.signals.ports import Models

ResultT = TypeVar("ResultT")
Observer = Callable[[str], AbstractContextManager[Any]]  # stage name -> context of its work


@runtime_checkable
class CallCounts(Protocol):
    """A model that counts its calls."""

    @property
    def calls(self) -> int:
        """Requests that reached the model."""

    @property
    def hits(self) -> int:
        """Requests answered from the cache."""


class Costs:
    """Observes the model calls of stages, in total or by item; this base class does nothing."""

    def stage(
        self,
        name: str,  # noqa: ARG002
        *models: object,  # noqa: ARG002
        records: int = 0,  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """Return a context for the work of a stage on `records` with these models."""
        return nullcontext()

    def around(self, models: Models) -> Models:
        """Return the models for a stage: the given ones, or wrappers that observe them."""
        return models

    def charged(
        self,
        place: int,  # noqa: ARG002
        asking: Generator[Request, Any, ResultT],
    ) -> Generator[Request, Any, ResultT]:
        """Charge the requests of a generator to the item at a place of the batch."""
        return asking


@dataclass(slots=True)
class StageTotals:
    """Totals of one stage: finished `records`, calls, cache hits, and wall-clock seconds."""

    records: int = 0
    calls: int = 0
    hits: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Meter(Costs):
    """The costs of a long-running pipeline: totals per stage, in the order of their first runs.

    `current` is the running stage. Each of `observers` returns a context for the stage's work, such
    as the timer of a histogram; it must not raise.
    """

    stages: dict[str, StageTotals] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)
    observers: list[Observer] = field(default_factory=list)
    current: str = ""

    @contextmanager
    def stage(self, name: str, *models: object, records: int = 0) -> Iterator[None]:
        """Charge the enclosed work on `records`, and its calls of `models`, to a stage."""
        counted = [model for model in models if isinstance(model, CallCounts)]
        calls, hits = sum(m.calls for m in counted), sum(m.hits for m in counted)
        started, succeeded = perf_counter(), False
        self.current = name
        try:
            with ExitStack() as held:
                for observer in self.observers:
                    held.enter_context(observer(name))
                yield
            succeeded = True
        finally:
            with self.lock:
                totals = self.stages.setdefault(name, StageTotals())
                totals.records += records if succeeded else 0
                totals.seconds += perf_counter() - started
                totals.calls += sum(m.calls for m in counted) - calls
                totals.hits += sum(m.hits for m in counted) - hits

    def records_done(self) -> dict[str, int]:
        """Return the finished records of each stage; thread-safe."""
        with self.lock:
            return {name: totals.records for name, totals in self.stages.items()}
