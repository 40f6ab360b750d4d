"""Says in the log how far a long batch has come."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

from radarstream.pipelines.job.answering.driver import Outcome
from radarstream.pipelines.job.answering.ports import Batch
from radarstream.pipelines.signals.metering import Meter
from radarstream.schemas.records import RawRecord

PROGRESS_S = 10.0


@dataclass(slots=True)
class Begun:
    """The batch in hand, and what stages and generator had done before it."""

    records: int
    at: float
    told: float
    done: dict[str, int]
    calls: int
    answers: int


class BatchProgress:
    """Tells how far the batch in hand is, every `every_s` seconds; a short one is not mentioned.

    `log` is a structlog logger; `generator` may count its calls. `tell` is for another thread than
    the batch's, and to be called more often than it logs.
    """

    def __init__(
        self,
        log: Any,
        meter: Meter,
        generator: object,
        every_s: float = PROGRESS_S,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._log = log
        self._meter = meter
        self._generator = generator
        self._every_s = every_s
        self._now = now
        self._begun: Begun | None = None

    def of(self, batch: Batch) -> Batch:
        """Return the batch, watched while it runs."""

        def watched(records: Sequence[RawRecord]) -> list[Outcome]:
            now, done = self._now(), self._meter.records_done()
            calls, answers = self._counted("calls"), self._counted("answered")
            self._begun = Begun(len(records), now, now, done, calls, answers)
            try:
                return batch(records)
            finally:
                self._begun = None

        return watched

    def tell(self) -> None:
        """Log the batch in hand, if it is time."""
        begun, now = self._begun, self._now()
        if begun is None or now - begun.told < self._every_s:
            return
        begun.told = now
        stage = self._meter.current
        done = self._meter.records_done().get(stage, 0) - begun.done.get(stage, 0)
        self._log.info(
            "batch_running",
            records=begun.records,
            stage=stage,
            done=done,
            model_answers=self._counted("answered") - begun.answers,
            model_calls=self._counted("calls") - begun.calls,
            seconds=round(now - begun.at, 1),
        )

    def _counted(self, what: str) -> int:
        return int(getattr(self._generator, what, 0))
