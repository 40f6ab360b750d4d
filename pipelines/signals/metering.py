"""Counts what each stage asked of the models and how long it took."""

from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from threading import Lock
from time import perf_counter
from typing import Any, Protocol, TypeVar, runtime_checkable

from radarstream.defenses.protocol import Request
from radarstream.pipelines.signals.ports import Models

ResultT = TypeVar("ResultT")
Observer = Callable[[str], AbstractContextManager[Any]]  # stage name -> what is held around it


@runtime_checkable
class CallCounts(Protocol):
    """A model that counts: `calls` reached the model, `hits` were answered from the cache."""

    @property
    def calls(self) -> int:
        """Requests that reached the model."""

    @property
    def hits(self) -> int:
        """Requests answered from the cache."""


class Costs:
    """Hears what the stages ask of the models, in total or item by item; by default, nothing."""

    def stage(
        self,
        name: str,  # noqa: ARG002
        *models: object,  # noqa: ARG002
        records: int = 0,  # noqa: ARG002
    ) -> AbstractContextManager[None]:
        """A context that lasts as long as a stage works on so many records with these models."""
        return nullcontext()

    def around(self, models: Models) -> Models:
        """The models that a stage asks: the given ones, or wrappers that observe them."""
        return models

    def charged(
        self,
        place: int,  # noqa: ARG002
        asking: Generator[Request, Any, ResultT],
    ) -> Generator[Request, Any, ResultT]:
        """The same generator, its requests charged to the item at this place of the batch."""
        return asking


@dataclass(slots=True)
class StageTotals:
    """Running totals of one stage; `records` it is done with; seconds are wall clock."""

    records: int = 0
    calls: int = 0
    hits: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class Meter(Costs):
    """The costs of a long-running pipeline: totals per stage, none per item.

    Stages stand in the order in which they first ran; `current` is the one that runs.

    Every one of `observers` is asked for a context manager that is held around the stage's work:
    a histogram's timer, a trace's span. It must not raise.
    """

    stages: dict[str, StageTotals] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)
    observers: list[Observer] = field(default_factory=list)
    current: str = ""

    @contextmanager
    def stage(self, name: str, *models: object, records: int = 0) -> Iterator[None]:
        """Charge the enclosed work on so many records, and what it asks of `models`, to a stage."""
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
        """Return the records that each stage is done with; for any thread."""
        with self.lock:
            return {name: totals.records for name, totals in self.stages.items()}
