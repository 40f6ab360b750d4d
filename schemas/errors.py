"""Every error this project raises on purpose: one tree below RadarstreamError."""

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


# Not the record's fault: a model was away, a row of the state is damaged, or a clock is wrong.
# Replayed once that is mended, the record may be answered.
OUTAGES: Final = frozenset(
    {ReasonClass.MODEL_UNAVAILABLE, ReasonClass.DAMAGED_STATE, ReasonClass.FUTURE_TIME}
)


class RadarstreamError(Exception):
    """Root of the tree: catch this to catch everything the project raises on purpose."""

    exit_code = 1  # of a command that it ends
    remedy = ""  # what mends it, where the error knows: a command, or a few words

    def mended_by(self, remedy: str) -> Self:
        """Say what mends it."""
        self.remedy = remedy
        return self


class InputError(RadarstreamError):
    """A record that cannot be used, with the reason an operator can count and act on.

    A runner that raises it again appends the step's name to the reason, as plain text; the name
    then goes to the detail. ValueError where the reason is none of the classes.
    """

    def __init__(self, reason: ReasonClass, detail: str) -> None:
        name, _, step = reason.partition(" ")
        self.reason = ReasonClass(name)
        self.detail = f"{detail} {step}" if step else detail
        super().__init__(self.reason, self.detail)

    @property
    def code(self) -> str:
        """The reason as programs are told."""
        return str(self.reason)

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


class ModelError(RadarstreamError):
    """A model call failed or returned something that is not an answer of its kind.

    `plain` says that the message is ours throughout, so that a log may have it.
    """

    plain = False


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
        self.plain = failures[0].plain

    def __reduce__(self) -> tuple[type["PartialModelError"], tuple[Sequence[object]]]:
        return PartialModelError, (self.outcomes,)


class EvidenceError(RadarstreamError, ValueError):
    """Evidence of the wrong shape or range, or with NaN; the message names array and index."""


class NotFoundError(RadarstreamError):
    """Nothing has the id or the name that a command was given."""


class ClaimError(RadarstreamError):
    """A claim that cannot be checked as it is worded; the message says why."""

    exit_code = 2
    code = "claim_unread"

    @property
    def detail(self) -> str:
        """The message."""
        return str(self)


class DocumentError(RadarstreamError):
    """A document that was given cannot be read: what it is called, a fixed word, and why."""

    exit_code = 2

    def __init__(self, name: str, reason: str, why: str) -> None:
        self.name, self.reason = name, reason
        self.code = f"document_{reason}"
        self.detail = f"{name}: {why}"
        super().__init__(name, reason, why)

    def __str__(self) -> str:
        return self.detail


class BudgetSpentError(RadarstreamError):
    """A user's epsilon budget for a corpus is spent: nothing was looked up in it."""


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


class RecordTooLargeError(ConfigurationError):
    """A topic does not take a record of this size; the message says which limit to raise."""
