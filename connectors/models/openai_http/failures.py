"""Failures of one request, and whether a retry may help.

A service may echo keys and documents. So messages repeat nothing of its replies except known error
codes.
"""

from typing import Final, Literal

from radarstream.schemas.errors import ModelError, ModelOutageError

Kind = Literal[
    "connection", "timeout", "rate_limited", "server_error", "key_refused", "refused", "malformed",
    "bad_request", "too_long", "oversized", "no_answer", "filtered", "circuit_open", "not_asked",
]  # fmt: skip

TOO_LONG: Final = frozenset(
    {"context_length_exceeded", "exceed_context_size_error", "string_above_max_length"}
)
FILTERED: Final = frozenset(
    {"content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation"}
)
NO_CREDIT: Final = "insufficient_quota"
UNKNOWN_MODEL: Final = "model_not_found"
KNOWN_CODES: Final = TOO_LONG | FILTERED | {NO_CREDIT, UNKNOWN_MODEL, "invalid_api_key"}


class ServiceError(ModelOutageError):
    """The service is down, fails or refuses us; `passing` if a retry may help."""

    plain = True

    def __init__(
        self, kind: Kind, detail: str, *, passing: bool = True, retry_after_s: float | None = None
    ) -> None:
        super().__init__(detail)
        self.kind: Kind = kind
        self.asked = kind != "not_asked"
        self.passing = passing
        self.retry_after_s = retry_after_s

    def __reduce__(self) -> tuple[type[ModelOutageError], tuple[str]]:
        return ModelOutageError, (str(self),)


class RequestError(ModelError):
    """The service works, but has no answer to this request, also after a retry."""

    plain = True

    def __init__(self, kind: Kind, detail: str) -> None:
        super().__init__(detail)
        self.kind: Kind = kind

    def __reduce__(self) -> tuple[type[ModelError], tuple[str]]:
        return ModelError, (str(self),)


def failure_of_status(
    status: int, codes: frozenset[str], retry_after_s: float | None
) -> ServiceError | RequestError:
    """Return the failure for an HTTP status other than 200 and the known codes of its body."""
    said = f"HTTP {status}" + (f" ({', '.join(sorted(codes))})" if codes else "")
    if status == 429:
        passing = NO_CREDIT not in codes
        return ServiceError("rate_limited", said, passing=passing, retry_after_s=retry_after_s)
    if status in {408, 425} or status >= 500:
        passing = status not in {501, 505}
        return ServiceError("server_error", said, passing=passing, retry_after_s=retry_after_s)
    if codes & TOO_LONG or status == 413:
        return RequestError("too_long", f"{said}: the prompt exceeds the model's context")
    if codes & FILTERED:
        return RequestError("filtered", f"{said}: stopped by the service's content filter")
    if status in {401, 403}:
        return ServiceError("key_refused", f"{said}: the key is refused", passing=False)
    if UNKNOWN_MODEL in codes or status in {402, 404, 405, 407}:
        return ServiceError("refused", f"{said}: check model and URL", passing=False)
    if 300 <= status < 400:
        return ServiceError("refused", f"{said}: redirects are not followed", passing=False)
    return RequestError("bad_request", f"{said}: the service refused the request")
