"""Every error this project raises on purpose, one tree:

RadarstreamError
├── InputError            a record cannot be used; carries a ReasonClass; becomes a dead letter
├── ModelError            a model call failed; never an empty answer, never "I don't know"
├── EvidenceError         a caller handed a defence arrays of the wrong shape, range or with NaN
├── StateConflictError    another writer moved the state row first: re-read, then retry or stop
├── BrokerError           the message broker did not do what it was asked: try again later
├── SearchError           the search service did not give results; `retryable` tells whether it may
└── ConfigurationError    settings or installation are wrong; the message says how to mend them
"""

from enum import StrEnum


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


class RadarstreamError(Exception):
    """Root of the tree: catch this to catch everything the project raises on purpose."""


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


class EvidenceError(RadarstreamError, ValueError):
    """Evidence of the wrong shape or range, or with NaN; the message names array and index."""


class StateConflictError(RadarstreamError):
    """The compare-and-set on a state row lost: another worker holds the query now."""


class BrokerError(RadarstreamError):
    """The message broker did not do what it was asked; nothing was lost, try again later."""


class SearchError(RadarstreamError):
    """The search service gave no results; `retryable` when the same request may succeed later."""

    def __init__(self, detail: str, *, retryable: bool) -> None:
        super().__init__(detail)
        self.retryable = retryable


class ConfigurationError(RadarstreamError):
    """Settings or installation are wrong; the message says what to change."""
