"""What flows between the steps of the graph; Parked may take the place of any Recorded."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.schemas.codec import dead_letter
from radarstream.schemas.errors import InputError, ModelError, ReasonClass
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.records import RawRecord

ValueT_co = TypeVar("ValueT_co", covariant=True)


@dataclass(frozen=True, eq=False)
class Recorded(Generic[ValueT_co]):
    """What a step of the round made of a snapshot, with the record it came in."""

    record: RawRecord
    value: ValueT_co


@dataclass(frozen=True, slots=True)
class Parked:
    """A record that a step gave up on, with the dead letter it became."""

    record: RawRecord
    letter: DeadLetter


def failed(record: RawRecord, error: Failure) -> DeadLetter:
    """Park a record that a model did not answer for, or that the defence refused."""
    if isinstance(error, ModelError):
        return dead_letter(record, InputError(ReasonClass.MODEL_UNAVAILABLE, str(error)))
    detail = f"{type(error).__name__}: {error}"
    return dead_letter(record, InputError(ReasonClass.INTERNAL_ERROR, detail))
