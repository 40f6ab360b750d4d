"""Why a search failed, in words of ours: nothing the service sent is repeated unchecked."""

from enum import StrEnum
from typing import Final

from radarstream.schemas.errors import ConfigurationError, SearchError
from radarstream.schemas.shown import one_line, only_shown

FRAGMENT: Final = 6  # so many characters of the key in a row are a leak
WORDS: Final = 160


class FailureClass(StrEnum):
    """What went wrong; the values label metrics."""

    THROTTLED = "throttled"
    OUT_OF_SEARCHES = "out_of_searches"
    OUT_OF_BUDGET = "out_of_budget"
    UNAVAILABLE = "unavailable"
    TIMEOUT = "timeout"
    MALFORMED = "malformed"
    REFUSED = "refused"
    STOPPED = "stopped"


# After these the service may have done the search, and counted it.
MAY_HAVE_COST: Final = frozenset({FailureClass.TIMEOUT, FailureClass.MALFORMED})
RETRYABLE: Final = MAY_HAVE_COST | {FailureClass.THROTTLED, FailureClass.UNAVAILABLE}


class SearchFailedError(SearchError):
    """A search that failed, with its class; `retryable` follows from it."""

    def __init__(self, kind: FailureClass, detail: str) -> None:
        super().__init__(detail, retryable=kind in RETRYABLE)
        self.kind = kind

    def __reduce__(self) -> tuple[type["SearchFailedError"], tuple[FailureClass, str]]:
        return type(self), (self.kind, str(self))


def from_status(
    status: int, said: object, *, key: str, variable: str
) -> SearchFailedError | ConfigurationError:
    """Turn an HTTP status and the service's `error` member into a failure."""
    if status in (401, 403):
        return ConfigurationError(f"SerpApi refused the API key in {variable} (HTTP {status})")
    kind, detail = FailureClass.REFUSED, f"SerpApi refused the request (HTTP {status})"
    if status == 429 and "run out of searches" in str(said).lower():
        kind, detail = FailureClass.OUT_OF_SEARCHES, "the search account has run out of searches"
    elif status == 429:
        kind, detail = FailureClass.THROTTLED, "SerpApi throttles this account (HTTP 429)"
    elif status >= 500:
        kind, detail = FailureClass.UNAVAILABLE, f"SerpApi is unavailable (HTTP {status})"
    elif words := quotable(said, key):
        detail += f": {words}"
    return SearchFailedError(kind, detail)


def quotable(said: object, key: str) -> str:
    """Words of the service that are safe to repeat: one short line without a piece of the key."""
    if not isinstance(said, str):
        return ""
    line = " ".join(only_shown(said, " ").split())
    pieces = (key[i : i + FRAGMENT] for i in range(max(1, len(key) - FRAGMENT + 1)))
    if any(piece.lower() in line.lower() for piece in pieces):
        return ""
    return one_line(line, WORDS)
