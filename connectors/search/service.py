"""What one search service adds to those that all have in common: requests, replies, failures."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, ClassVar, Final

from radarstream.connectors.retry_after import retry_after_s
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.searching import FailureClass, SearchFailedError, SearchRequest
from radarstream.schemas.snapshot import Document

Answer = Mapping[str, Any]  # a JSON object
Failure = SearchFailedError | ConfigurationError
KEY_REFUSED: Final = (401, 403)


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request: a POST where it has a body, else a GET. Empty parameters are not sent."""

    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Answer | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What a service replied. `answer` is empty where the body of a failure is no JSON object;
    `words` are what it says of a failure, as far as they are safe to repeat.
    """

    status: int
    headers: Mapping[str, str]
    answer: Answer
    words: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of results by rank, whether there may be more, and the service's name for it."""

    documents: list[Document]
    more: bool
    archive_id: str = ""


class SearchService(ABC):
    """One service. A subclass is a dataclass of its options; `name` is its name in the settings.

    A page holds at least `per_page` results where there are so many. `check` is a request that
    costs nothing and shows whether the service can be used.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    base_url: ClassVar[str]
    key_variable: ClassVar[str] = ""  # empty: it needs no key
    per_page: ClassVar[int] = 10
    most_pages: ClassVar[int] = 10
    by_date: ClassVar[bool] = True  # whether it takes any span of days
    check: ClassVar[Call]

    @abstractmethod
    def call(self, request: SearchRequest, page: int) -> Call:
        """The request of a page, counted from 0, without the key."""

    @abstractmethod
    def read(self, answer: Answer, page: int, seen_at: datetime) -> Page:
        """The results in an answer. Raises SearchFailedError where it is a failure."""

    def credits(self, k: int) -> int:
        """Pages, and so credits, that so many results need when nothing fails."""
        return min(-(-k // self.per_page), self.most_pages)

    def engine(self, request: SearchRequest) -> str:
        """What snapshots name as the origin of their results."""
        del request
        return self.name

    def signed(self, call: Call, key: str) -> Call:
        """The request with the key."""
        return replace(call, headers={**call.headers, "authorization": f"Bearer {key}"})

    def failure(self, reply: Reply, variable: str) -> Failure:
        """What a status other than 200 means; `variable` holds the key."""
        status, title = reply.status, self.title
        if status in KEY_REFUSED:
            return self.key_refused(reply, variable)
        if status == 429:
            pause = retry_after_s(reply.headers) or 0.0
            detail = f"{title} throttles this account (HTTP 429)"
            return SearchFailedError(FailureClass.THROTTLED, detail, pause)
        if status >= 500:
            detail = f"{title} is unavailable (HTTP {status})"
            return SearchFailedError(FailureClass.UNAVAILABLE, detail)
        if 300 <= status < 400:
            return SearchFailedError(FailureClass.REFUSED, f"{title} redirects elsewhere")
        why = f": {reply.words}" if reply.words else ""
        detail = f"{title} refused the request (HTTP {status}){why}"
        return SearchFailedError(FailureClass.REFUSED, detail)

    def key_refused(self, reply: Reply, variable: str) -> ConfigurationError:
        """The error for a key that is wrong, or missing where no variable is named."""
        whose = f"the API key in {variable}" if variable else "requests without an API key"
        return ConfigurationError(f"{self.title} refused {whose} (HTTP {reply.status})")

    def out_of_searches(self) -> SearchFailedError:
        """The error for an account whose plan is used up."""
        return SearchFailedError(
            FailureClass.OUT_OF_SEARCHES, f"the account at {self.title} has run out of searches"
        )

    def malformed(self) -> SearchFailedError:
        """The error for a JSON object that is no answer of the service."""
        return SearchFailedError(
            FailureClass.MALFORMED, f"what {self.title} sent is no answer to a search"
        )

    def checked(self, reply: Reply, variable: str) -> str:
        """What the reply to `check` says, in a few words. Raises what `failure` gives."""
        if reply.status != 200:
            raise self.failure(reply, variable)
        return "answers and takes the key" if variable else "answers"
