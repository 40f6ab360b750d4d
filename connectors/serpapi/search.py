"""A whole search as one snapshot: as many pages as it needs, retried, paced and paid for."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random_exponential

from radarstream.connectors.serpapi.failures import MAY_HAVE_COST, FailureClass, SearchFailedError
from radarstream.connectors.serpapi.options import SerpApiOptions
from radarstream.connectors.serpapi.request import SearchRequest
from radarstream.connectors.serpapi.results import Answer, distinct, page_results
from radarstream.schemas.errors import SearchError
from radarstream.schemas.snapshot import Document, Provenance, Retrieval, SearchSnapshot
from radarstream.schemas.times import Clock, whole_milliseconds

if TYPE_CHECKING:
    from radarstream.connectors.serpapi.client import SerpApiClient

ARCHIVE_ID: Final = re.compile(r"[0-9A-Za-z_-]{1,64}")
FAILED: Final = ("Error", "Queued", "Processing")  # the last two: it may be there on the next try
NOTHING_FOUND: Final = "hasn't returned any results"
SLACK_S: Final = 0.01  # a clock's pause may end this much early


class TokenBucket:
    """Requests spaced to an hourly throughput: `burst` at once and `per_hour` an hour after."""

    def __init__(self, clock: Clock, *, per_hour: int, burst: int) -> None:
        self._clock = clock
        self._rate = per_hour / 3600.0
        self._burst = self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    def take(self) -> bool:
        """Wait for a token and take it; False when the wait was cut short."""
        self._fill()
        if self._tokens < 1.0:
            if not paused(self._clock, (1.0 - self._tokens) / self._rate):
                return False
            self._fill()
        self._tokens = max(0.0, self._tokens - 1.0)
        return True

    def _fill(self) -> None:
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now


def paused(clock: Clock, seconds: float) -> bool:
    """Pause; False when the pause was cut short."""
    until = clock.monotonic() + seconds
    clock.wait(seconds)
    return clock.monotonic() >= until - SLACK_S


@dataclass
class SearchCounts:
    """What searching has done so far, in this process."""

    requests: int = 0
    retries: int = 0
    credits: int = 0


@dataclass
class _Progress:
    """A search under way; `deadline` is on the monotonic clock, pauses of the pace excepted."""

    request: SearchRequest
    deadline: float
    results: list[Document] = field(default_factory=list)
    archive_ids: list[str] = field(default_factory=list)
    pages: int = 0
    detail: str = ""


class SerpApiSearch:
    """Searches one after another; not for several threads.

    `spend(amount)` counts credits before a request and says whether the budget allows them.
    Cached answers, which are free, count too: the service does not say which they are.
    """

    def __init__(
        self,
        pages: "SerpApiClient",
        options: SerpApiOptions,
        clock: Clock,
        spend: Callable[[int], bool],
    ) -> None:
        self.counts = SearchCounts()
        self._pages = pages
        self._options = options
        self._clock = clock
        self._spend = spend
        self._bucket = TokenBucket(clock, per_hour=options.requests_per_hour, burst=options.burst)

    def search(self, request: SearchRequest) -> SearchSnapshot:
        """Return the results as a snapshot observed now, or at the end of the request's dates.

        It is marked partial when it holds fewer than `k` documents, because a later page failed
        or because there were no more. Raises SearchFailedError when the first page fails and
        ConfigurationError when the key is refused.
        """
        progress = _Progress(request, self._clock.monotonic() + self._options.deadline_s)
        for page in range(request.pages):
            try:
                answer = self._page(progress, page)
            except SearchFailedError as error:
                if page == 0:
                    raise
                progress.detail = f"page {page + 1} failed: {error.kind}"
                break
            if not self._add(progress, answer):
                break
        return self._snapshot(progress)

    def _snapshot(self, progress: _Progress) -> SearchSnapshot:
        request = progress.request
        kept = distinct(progress.results, request.k)
        partial = len(kept) < request.k
        detail = progress.detail or "the pages held fewer results"
        observed = request.dates.last_second if request.dates else self._clock.now()
        return SearchSnapshot(
            query=request.query,
            observed_at=whole_milliseconds(observed),
            documents=kept,
            provenance=Provenance.DATE_RESTRICTED if request.dates else Provenance.LIVE,
            retrieval=Retrieval(
                engine=request.engine,
                pages=progress.pages,
                archive_ids=tuple(progress.archive_ids),
                partial=partial,
                detail=detail[:300] if partial else "",
            ),
        )

    def _add(self, progress: _Progress, answer: Answer) -> bool:
        """Add a page's results; False when there is no further page."""
        found = page_results(answer, self._clock.now())
        progress.pages += 1
        progress.results += found
        archive_id = _metadata(answer).get("id")
        if isinstance(archive_id, str) and ARCHIVE_ID.fullmatch(archive_id):
            progress.archive_ids.append(archive_id)
        pagination = answer.get("serpapi_pagination")
        if not found or not (isinstance(pagination, dict) and pagination.get("next")):
            progress.detail = f"the results ended on page {progress.pages}"
            return False
        return True

    def _page(self, progress: _Progress, page: int) -> Answer:
        """Ask for a page until it is there, the tries are used up or the deadline has passed."""
        paid = False
        enough = stop_after_attempt(self._options.attempts)
        parameters = progress.request.parameters(page)

        def attempt() -> Answer:
            nonlocal paid
            if not paid:
                self._pay()
                paid = True
            self._wait_turn(progress)
            self.counts.requests += 1
            try:
                answer = self._pages.search(parameters, seconds=self._seconds_left(progress))
                return self._finished(answer)
            except SearchFailedError as failure:
                paid = failure.kind not in MAY_HAVE_COST
                raise

        def stop(state: RetryCallState) -> bool:
            late = self._clock.monotonic() + state.upcoming_sleep >= progress.deadline
            return late or enough(state)

        retrying = Retrying(
            retry=retry_if_exception(lambda e: isinstance(e, SearchError) and e.retryable),
            wait=wait_random_exponential(
                self._options.first_pause_s, self._options.longest_pause_s
            ),
            stop=stop,
            before_sleep=self._count_retry,
            sleep=self._pause,
            reraise=True,
        )
        return retrying(attempt)

    def _finished(self, answer: Answer) -> Answer:
        """Tell results from failures."""
        error = answer.get("error")
        if isinstance(error, str) and NOTHING_FOUND in error:
            return {**answer, "organic_results": []}
        if error or _metadata(answer).get("status") in FAILED:
            raise SearchFailedError(FailureClass.UNAVAILABLE, "SerpApi reports a failure")
        if _metadata(answer).get("status") != "Success":
            raise SearchFailedError(FailureClass.MALFORMED, "the answer is not that of a search")
        return answer

    def _pay(self) -> None:
        if not self._spend(1):
            raise SearchFailedError(
                FailureClass.OUT_OF_BUDGET,
                f"the budget of {self._options.monthly_credits} credits a month is used up",
            )
        self.counts.credits += 1

    def _wait_turn(self, progress: _Progress) -> None:
        before = self._clock.monotonic()
        if not self._bucket.take():
            raise SearchFailedError(FailureClass.STOPPED, "stopped while waiting for a turn")
        progress.deadline += self._clock.monotonic() - before

    def _pause(self, seconds: float) -> None:
        if not paused(self._clock, seconds):
            raise SearchFailedError(FailureClass.STOPPED, "stopped during a pause")

    def _count_retry(self, _: RetryCallState) -> None:
        self.counts.retries += 1

    def _seconds_left(self, progress: _Progress) -> float:
        left = progress.deadline - self._clock.monotonic()
        if left <= 0.0:
            raise SearchFailedError(FailureClass.TIMEOUT, "the search took too long")
        return left


def period_of(moment: datetime) -> str:
    """Return the calendar month, UTC, whose budget a search at this moment is paid from.

    >>> period_of(datetime(2025, 3, 31, 23, 59, tzinfo=UTC))
    '2025-03'
    """
    return moment.astimezone(UTC).strftime("%Y-%m")


def _metadata(answer: Answer) -> Mapping[str, Any]:
    metadata = answer.get("search_metadata")
    return metadata if isinstance(metadata, dict) else {}
