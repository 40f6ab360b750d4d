"""All errors that this project raises on purpose: one tree below RadarstreamError."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Final, Self


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
    DAMAGED_STATE = "damaged_state"


# Not the record's fault: a model failed, a row of the state is damaged, or a clock is wrong.
# A replay of the record may succeed once that is repaired.
OUTAGES: Final = frozenset(
    {ReasonClass.MODEL_UNAVAILABLE, ReasonClass.DAMAGED_STATE, ReasonClass.FUTURE_TIME}
)


class RadarstreamError(Exception):
    """Base class of all errors that the project raises on purpose."""

    exit_code = 1  # of a command that ends with this error
    remedy = ""  # what to do about it: a command, or a few words

    def mended_by(self, remedy: str) -> Self:
        """Set the remedy."""
        self.remedy = remedy
        return self


class InputError(RadarstreamError):
    """A record cannot be used: `reason` is its class, `detail` says more.

    Beam raises the error again with the name of a step behind the reason; the name then moves to
    `detail`. Raises ValueError for an unknown reason.
    """

    def __init__(self, reason: ReasonClass, detail: str) -> None:
        name, _, step = reason.partition(" ")
        self.reason = ReasonClass(name)
        self.detail = f"{detail} {step}" if step else detail
        super().__init__(self.reason, self.detail)

    @property
    def code(self) -> str:
        """The reason, for programs."""
        return str(self.reason)

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


class ModelError(RadarstreamError):
    """A model call failed or returned an unusable value.

    `plain` means that the message has no text of others, so that it may be logged.
    """

    plain = False


class ModelOutageError(ModelError):
    """The model's service failed, whatever the request.

    `asked` is False if time ran out before the service was asked.
    """

    asked = True


class PartialModelError(ModelError):
    """Some requests of a batch failed after all their attempts; do not retry the batch.

    `outcomes` has the result or the ModelError of each request, in order.
    """

    def __init__(self, outcomes: Sequence[object]) -> None:
        failures = [outcome for outcome in outcomes if isinstance(outcome, ModelError)]
        if not failures:
            raise ValueError("no outcome is a failure")
        super().__init__(
            f"{len(failures)} of {len(outcomes)} failed, the first with: {failures[0]}"
        )
        self.outcomes: Sequence[Any] = outcomes
        self.plain = failures[0].plain

    def __reduce__(self) -> tuple[type["PartialModelError"], tuple[Sequence[object]]]:
        return PartialModelError, (self.outcomes,)


class EvidenceError(RadarstreamError, ValueError):
    """Evidence of the wrong shape or range, or with NaN; the message names array and index."""


class NotFoundError(RadarstreamError):
    """Nothing has the given id or name."""


class ClaimError(RadarstreamError):
    """A claim cannot be checked in its wording; the message says why."""

    exit_code = 2
    code = "claim_unread"

    @property
    def detail(self) -> str:
        """The message."""
        return str(self)


class DocumentError(RadarstreamError):
    """A document cannot be read: its name, a word for the reason, and a sentence."""

    exit_code = 2

    def __init__(self, name: str, reason: str, why: str) -> None:
        self.name, self.reason, self.why = name, reason, why
        self.code = f"document_{reason}"
        self.detail = f"{name}: {why}"
        super().__init__(name, reason, why)

    def __str__(self) -> str:
        return self.detail


class BudgetSpentError(RadarstreamError):
    """A user's epsilon budget for a corpus is spent, so the corpus was not searched."""


class StateConflictError(RadarstreamError):
    """Another writer changed the state row first."""


class DatabaseUnavailableError(RadarstreamError):
    """The server of the state database does not answer; the message says where."""


class BrokerError(RadarstreamError):
    """The message broker failed. Nothing is lost; try again later."""


class JobFailedError(RadarstreamError):
    """A job failed by an error of another library, or its runner refused it.

    The library's message is repeated only if it cannot have text of documents.
    """


class SearchError(RadarstreamError):
    """A search failed; `retryable` if the same request may succeed later."""

    def __init__(self, detail: str, *, retryable: bool) -> None:
        super().__init__(detail)
        self.retryable = retryable


class ConfigurationError(RadarstreamError):
    """Settings or installation are wrong; the message says what to change."""

    exit_code = 2


class RecordTooLargeError(ConfigurationError):
    """A record is too large for its topic; the message says which limit to raise."""
