"""RunInference handlers whose element is a whole snapshot.

A handler flattens the prompts of all snapshots of a batch into one model call and splits the
results back, so no shuffle is needed. A snapshot whose model calls fail comes out as a dead letter
and the others of its batch go on; dead letters of earlier steps pass through.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from apache_beam.ml.inference.base import ModelHandler

from radarstream.pipelines.beam.elements import Answered, Observed, Parked, Ready
from radarstream.pipelines.beam.withholding import leave_out_blocked, withhold
from radarstream.pipelines.build import build_source_reader, shared_engine, shared_guard
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.stages import Failure
from radarstream.schemas.codec import dead_letter
from radarstream.schemas.errors import InputError, ModelError, ReasonClass
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.records import RawRecord

InT = TypeVar("InT")
OutT = TypeVar("OutT")


class GuardHandler(ModelHandler[Any, Any, Guard[Any]]):
    """Runs one of the guard's signal stages; the model is the process's shared guard."""

    def __init__(self, settings: Settings) -> None:
        super().__init__()
        self.settings = settings

    def load_model(self) -> Guard[Any]:
        """Return the process's guard: RunInference drops models that it alone refers to."""
        return shared_guard(self.settings)

    def batch_elements_kwargs(self) -> Mapping[str, Any]:
        """Fill batches to the configured size."""
        size = self.settings.batch.snapshots
        return {"min_batch_size": size, "max_batch_size": size}


class AtomicAnswers(GuardHandler):
    """Observed -> Answered."""

    def run_inference(
        self,
        batch: Sequence[Observed | Parked],
        model: Guard[Any],
        inference_args: dict[str, Any] | None = None,  # noqa: ARG002 the base class passes it
    ) -> Iterable[Answered | Parked]:
        """Answer every document of every snapshot of the batch, but none in quarantine."""

        def answer(items: Sequence[Observed]) -> list[Answered | ModelError]:
            seen = self.seen(items)
            answers = model.atomic_answers([observed.snapshot for observed in seen])
            return [
                a if isinstance(a, ModelError) else Answered(o, a)
                for o, a in zip(seen, answers, strict=True)
            ]

        return each_alive(answer, batch, lambda observed: observed.record)

    def seen(self, items: Sequence[Observed]) -> Sequence[Observed]:
        """The snapshots without the documents that no model may see."""
        settings = self.settings
        if settings.attribution.enabled:
            items = withhold(shared_engine(settings), items)
        if settings.sources.block:
            reader = build_source_reader(settings, shared_engine(settings))
            items = leave_out_blocked(reader, items)
        return items


class RelateAnswers(GuardHandler):
    """Answered -> Ready."""

    def run_inference(
        self,
        batch: Sequence[Answered | Parked],
        model: Guard[Any],
        inference_args: dict[str, Any] | None = None,  # noqa: ARG002 the base class passes it
    ) -> Iterable[Ready | Parked]:
        """Relate the atomic answers within every snapshot of the batch."""

        def relate(items: Sequence[Answered]) -> list[Ready | ModelError]:
            evidences = model.relate([(i.observed.snapshot, i.answers) for i in items])
            return [
                e if isinstance(e, ModelError) else Ready(i.observed, e)
                for i, e in zip(items, evidences, strict=True)
            ]

        return each_alive(relate, batch, lambda answered: answered.observed.record)


def each_alive(
    stage: Callable[[Sequence[InT]], Sequence[OutT | ModelError]],
    batch: Sequence[InT | Parked],
    record_of: Callable[[InT], RawRecord],
) -> list[OutT | Parked]:
    """Run a stage on the batch's living elements, in order; failing ones become dead letters."""
    living = [item for item in batch if not isinstance(item, Parked)]
    outcomes = stage(living) if living else []
    results = iter(
        Parked(record_of(item), failed(record_of(item), outcome))
        if isinstance(outcome, ModelError)
        else outcome
        for item, outcome in zip(living, outcomes, strict=True)
    )
    return [item if isinstance(item, Parked) else next(results) for item in batch]


def failed(record: RawRecord, error: Failure) -> DeadLetter:
    """Park a record that a model did not answer for, or that the defence refused."""
    if isinstance(error, ModelError):
        return dead_letter(record, InputError(ReasonClass.MODEL_UNAVAILABLE, str(error)))
    detail = f"{type(error).__name__}: {error}"
    return dead_letter(record, InputError(ReasonClass.INTERNAL_ERROR, detail))
