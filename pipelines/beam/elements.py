"""What flows between the steps of the graph; Parked may take the place of any of them."""

import pickle
from dataclasses import dataclass
from functools import partial

from apache_beam.coders import coder_impl
from apache_beam.coders.coders import FastCoder
from apache_beam.coders.typecoders import registry

from radarstream.pipelines.stages import Failure, Gathered
from radarstream.pipelines.withholding import Observed
from radarstream.schemas.codec import dead_letter
from radarstream.schemas.errors import InputError, ModelError, ReasonClass
from radarstream.schemas.events import DeadLetter
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.records import RawRecord


class Element:
    """The type of all of them, as the graph declares it to Beam."""


class ElementCoder(FastCoder):
    """Pickles elements where they wait for others, and tells no sizes.

    Beam's own coder pickles many elements of each step only to estimate how large they are.
    """

    encoder = staticmethod(partial(pickle.dumps, protocol=pickle.HIGHEST_PROTOCOL))

    def _create_impl(self) -> coder_impl.CoderImpl:
        return coder_impl.CallbackCoderImpl(self.encoder, pickle.loads, size_estimator=lambda _: 0)

    def is_deterministic(self) -> bool:
        """Elements are no keys."""
        return False


registry.register_coder(Element, ElementCoder)


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
