"""The base class of search services: requests, replies, failures."""

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
    """One HTTP request: a POST with a body, else a GET. Empty parameters are not sent."""

    path: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Answer | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of a service. `answer` is empty if the body of a failure is not a JSON object;
    `words` are the service's message about a failure, if it is safe to repeat.
    """

    status: int
    headers: Mapping[str, str]
    answer: Answer
    words: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of results by rank, whether there may be more, and the service's id of the answer."""

    documents: list[Document]
    more: bool
    archive_id: str = ""


class SearchService(ABC):
    """A search service. A subclass is a dataclass of its options.

    `SearchClient` sends its calls; `PagedSearch` makes snapshots of its pages, with attempts, rate
    limit and budget. `failure`, `checked` and `signed` have defaults for services with the usual
    HTTP statuses and a bearer token.

    >>> class Example(SearchService):
    ...     name, title, base_url = "example", "Example", "https://search.example"
    ...     check = Call("/status")
    ...     def call(self, request, page):
    ...         return Call("/search", {"q": request.text, "page": str(page)})
    ...     def read(self, answer, page, seen_at):
    ...         hits = enumerate(answer["hits"], start=1)
    ...         documents = [Document(rank, hit["text"], url=hit["url"]) for rank, hit in hits]
    ...         return Page(documents, more=bool(documents))
    >>> Example().credits(25)
    3
    """

    name: ClassVar[str]  # in the settings
    title: ClassVar[str]  # in messages
    base_url: ClassVar[str]
    key_variable: ClassVar[str] = ""  # environment variable of the key; empty: no key
    per_page: ClassVar[int] = 10  # least results of a page, if there are so many
    most_pages: ClassVar[int] = 10
    by_date: ClassVar[bool] = True  # whether it can search between two days
    check: ClassVar[Call]  # a free request that shows whether the service can be used

    @abstractmethod
    def call(self, request: SearchRequest, page: int) -> Call:
        """Return the request of a page, counted from 0, without the key."""

    @abstractmethod
    def read(self, answer: Answer, page: int, seen_at: datetime) -> Page:
        """Read the results of an answer at `seen_at`. Raises SearchFailedError for a failure."""

    def credits(self, k: int) -> int:
        """Return the number of pages, and so credits, for `k` results without failures."""
        return min(-(-k // self.per_page), self.most_pages)

    def engine(self, request: SearchRequest) -> str:
        """Return the engine that snapshots name."""
        del request
        return self.name

    def signed(self, call: Call, key: str) -> Call:
        """Add the key to a request."""
        return replace(call, headers={**call.headers, "authorization": f"Bearer {key}"})

    def failure(self, reply: Reply, variable: str) -> Failure:
        """Return the error of a status other than 200; `variable` is the environment variable of
        the key.
        """
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
        """Return the error for a wrong key, or without a variable for a missing one."""
        whose = f"the API key in {variable}" if variable else "requests without an API key"
        return ConfigurationError(f"{self.title} refused {whose} (HTTP {reply.status})")

    def out_of_searches(self) -> SearchFailedError:
        """Return the error for an account whose plan is used up."""
        return SearchFailedError(
            FailureClass.OUT_OF_SEARCHES, f"the account at {self.title} has run out of searches"
        )

    def malformed(self) -> SearchFailedError:
        """Return the error for a JSON object that is not an answer of the service."""
        detail = f"{self.title} did not send an answer to a search"
        return SearchFailedError(FailureClass.MALFORMED, detail)

    def checked(self, reply: Reply, variable: str) -> str:
        """Say in a few words that the reply to `check` is right. Raises the error of `failure`."""
        if reply.status != 200:
            raise self.failure(reply, variable)
        return "answers and takes the key" if variable else "answers"
