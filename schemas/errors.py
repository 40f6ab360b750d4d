"""Every error this project raises on purpose, one tree:

RadarstreamError
├── InputError            a record cannot be used; carries a ReasonClass; becomes a dead letter
├── ModelError            a model call failed; never an empty answer, never "I don't know"
│   ├── ModelOutageError  the model's service is at fault, not the request: later it may answer
│   └── PartialModelError some requests of a batch failed; carries every outcome
├── EvidenceError         a caller handed a defence arrays of the wrong shape, range or with NaN
├── StateConflictError    another writer moved the state row first: re-read, then retry or stop
├── DatabaseUnavailableError  the server of the state database does not answer: try again later
├── BrokerError           the message broker did not do what it was asked: try again later
├── JobFailedError        a job ended, or was not taken, by an error of another library
├── SearchError           the search service did not give results; `retryable` tells whether it may
└── ConfigurationError    settings or installation are wrong; the message says how to mend them
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any


class ReasonClass(StrEnum):
    """Why a record became a dead letter; the values are wire names and never change meaning."""

    INVALID_ENCODING = "invalid_encoding"
    MALFORMED_JSON = "malformed_json"
    UNKNOWN_SCHEMA = "unknown_schema"
    MISSING_FIELD = "missing_field"
    UNKNOWN_FIELD = "unknown_field"
    WRONG_TYPE = "wrong_type"
    NOT_FINITE = "not_finite"
    OUT_OF_RANGE = "out_of_range"
    MISSING_TIME = "missing_time"
    NEGATIVE_TIME = "negative_time"
    FUTURE_TIME = "future_time"
    DUPLICATE_RANK = "duplicate_rank"
    CONTROL_CHARACTER = "control_character"
    OVERSIZED_RECORD = "oversized_record"
    OVERSIZED_DOCUMENT = "oversized_document"
    TOO_MANY_DOCUMENTS = "too_many_documents"
    LATE = "late"
    MODEL_UNAVAILABLE = "model_unavailable"
    INTERNAL_ERROR = "internal_error"


# Not the record's fault: a model was away, or a clock is wrong. The same record may pass later.
OUTAGES = frozenset({ReasonClass.MODEL_UNAVAILABLE, ReasonClass.FUTURE_TIME})


class RadarstreamError(Exception):
    """Root of the tree: catch this to catch everything the project raises on purpose."""

    exit_code = 1  # of a command that it ends


class InputError(RadarstreamError):
    """A record that cannot be used, with the reason an operator can count and act on."""

    def __init__(self, reason: ReasonClass, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


class ModelError(RadarstreamError):
    """A model call failed or returned something that is not an answer of its kind."""


class ModelOutageError(ModelError):
    """The model's service did not answer, or not sensibly: no request is to blame.

    `asked` is False where time ran out before the service was asked, which says nothing of it.
    """

    asked = True


class PartialModelError(ModelError):
    """Requests of a batch failed on their own, each after its own attempts: do not ask again.

    `outcomes` has one entry per request, in order: its result, or the ModelError it failed with.
    """

    def __init__(self, outcomes: Sequence[object]) -> None:
        failures = [outcome for outcome in outcomes if isinstance(outcome, ModelError)]
        if not failures:
            raise ValueError("no outcome is a failure")
        super().__init__(
            f"{len(failures)} of {len(outcomes)} failed, the first with: {failures[0]}"
        )
        self.outcomes: Sequence[Any] = outcomes

    def __reduce__(self) -> tuple[type["PartialModelError"], tuple[Sequence[object]]]:
        return PartialModelError, (self.outcomes,)


class EvidenceError(RadarstreamError, ValueError):
    """Evidence of the wrong shape or range, or with NaN; the message names array and index."""


class StateConflictError(RadarstreamError):
    """The compare-and-set on a state row lost: another worker holds the query now."""


class DatabaseUnavailableError(RadarstreamError):
    """The server of the state database does not answer; the message says where."""


class BrokerError(RadarstreamError):
    """The message broker did not do what it was asked; nothing was lost, try again later."""


class JobFailedError(RadarstreamError):
    """A job ended by an error of another library, or its runner did not take it.

    What the library said is repeated only where it cannot hold what it was given.
    """


class SearchError(RadarstreamError):
    """The search service gave no results; `retryable` when the same request may succeed later."""

    def __init__(self, detail: str, *, retryable: bool) -> None:
        super().__init__(detail)
        self.retryable = retryable


class ConfigurationError(RadarstreamError):
    """Settings or installation are wrong; the message says what to change."""

    exit_code = 2
