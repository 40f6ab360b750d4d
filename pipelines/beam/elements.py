"""What flows between the steps of the graph; Parked may take the place of any of them."""

from dataclasses import dataclass

from radarstream.pipelines.stages import Failure, Gathered
from radarstream.pipelines.withholding import Observed
from radarstream.schemas.codec import dead_letter
from radarstream.schemas.errors import InputError, ModelError, ReasonClass
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.records import RawRecord


@dataclass(frozen=True, slots=True)
class Parked:
    """A record that a step gave up on, with the dead letter it became."""

    record: RawRecord
    letter: DeadLetter


@dataclass(frozen=True, eq=False)
class Answered:
    """A snapshot with the texts that were read and, where needed, an answer per document."""

    observed: Observed
    gathered: Gathered

    @property
    def record(self) -> RawRecord:
        """The record that the snapshot came in."""
        return self.observed.record


@dataclass(frozen=True, eq=False)
class Ready:
    """A snapshot with all the evidence its defence needs."""

    observed: Observed
    evidence: Evidence

    @property
    def order(self) -> tuple[int, str, int]:
        """Folding order within a query: event time, then place in the source."""
        record = self.observed.record
        return self.observed.snapshot.observed_at_ms, record.source, record.position


def failed(record: RawRecord, error: Failure) -> DeadLetter:
    """Park a record that a model did not answer for, or that the defence refused."""
    if isinstance(error, ModelError):
        return dead_letter(record, InputError(ReasonClass.MODEL_UNAVAILABLE, str(error)))
    detail = f"{type(error).__name__}: {error}"
    return dead_letter(record, InputError(ReasonClass.INTERNAL_ERROR, detail))
