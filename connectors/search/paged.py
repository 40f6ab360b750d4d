"""Makes one snapshot of a search: reads its pages with retries, a rate limit and a budget."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_random_exponential

from radarstream.connectors.search.options import SearchOptions
from radarstream.connectors.search.results import distinct
from radarstream.connectors.search.service import Page
from radarstream.schemas.errors import SearchError
from radarstream.schemas.searching import (
    MAY_HAVE_COST,
    FailureClass,
    SearchFailedError,
    SearchRequest,
)
from radarstream.schemas.snapshot import Document, Provenance, Retrieval, SearchSnapshot
from radarstream.schemas.times import Clock, whole_milliseconds

if TYPE_CHECKING:
    from radarstream.connectors.search.client import SearchClient

SLACK_S: Final = 0.01  # by which a clock's pause may end early
KEPT: Final = 16  # searches that can be continued


class TokenBucket:
    """Limits requests: `burst` at once, then `per_hour`."""

    def __init__(self, clock: Clock, *, per_hour: int, burst: int) -> None:
        self._clock = clock
        self._rate = per_hour / 3600.0
        self._burst = self._tokens = float(burst)
        self._filled_at = clock.monotonic()

    def take(self) -> bool:
        """Wait for a token and take it; False if the wait was cut short."""
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
    """Pause; False if the pause was cut short."""
    until = clock.monotonic() + seconds
    clock.wait(seconds)
    return clock.monotonic() >= until - SLACK_S


@dataclass
class SearchCounts:
    """Counts of this process."""

    requests: int = 0
    retries: int = 0
    credits: int = 0


@dataclass
class _Stream:
    """The state of one search. `rest` was read and not yet returned; `start` is that of the request
    that continues the search; it skips the first `skip` results of the next `page`.
    """

    start: int
    page: int
    skip: int
    rest: list[Document] = field(default_factory=list)
    ended: bool = False


@dataclass
class _Progress:
    """A running search; `deadline` is on the monotonic clock, without waits for the rate limit."""

    request: SearchRequest
    deadline: float
    archive_ids: list[str] = field(default_factory=list)
    pages: int = 0
    detail: str = "the pages held fewer results"


class PagedSearch:
    """Searches one after another. Not thread-safe.

    A request with a `start` continues an earlier one: results that were read then cost nothing.
    `spend(amount)` books credits before a request, and returns whether the budget allows it. Every
    request costs a credit, also if the service has it in its cache.
    """

    def __init__(
        self,
        client: "SearchClient",
        options: SearchOptions,
        clock: Clock,
        spend: Callable[[int], bool],
    ) -> None:
        self.counts = SearchCounts()
        self.service = client.service
        self._client = client
        self._options = options
        self._clock = clock
        self._spend = spend
        self._bucket = TokenBucket(clock, per_hour=options.requests_per_hour, burst=options.burst)
        self._streams: dict[SearchRequest, _Stream] = {}

    def search(self, request: SearchRequest) -> SearchSnapshot:
        """Return the results as a snapshot observed now, or at the end of the request's dates.

        It is marked partial if it has fewer than `k` documents, because a later page failed or the
        results ended. Raises SearchFailedError if the first page fails, or the service cannot
        restrict dates, and ConfigurationError if the key is refused.
        """
        if request.dates and not self.service.by_date:
            detail = f"{self.service.title} cannot search between two days"
            raise SearchFailedError(FailureClass.REFUSED, detail)
        stream = self._stream(request)
        progress = _Progress(request, self._clock.monotonic() + self._options.deadline_s)
        for _ in range(self.service.credits(max(0, request.k - len(stream.rest)))):
            if stream.ended:
                break
            try:
                page = self._page(progress, stream.page)
            except SearchFailedError as error:
                if not stream.rest:
                    raise
                progress.detail = f"page {stream.page + 1} failed: {error.kind}"
                break
            self._add(progress, stream, page)
        return self._snapshot(progress, stream)

    def _stream(self, request: SearchRequest) -> _Stream:
        """Return the search that a request begins or continues. If its state is gone, reading
        continues at the page of `start`.
        """
        search = replace(request, k=1, start=0)
        stream = self._streams.pop(search, None)
        if stream is None or not request.start or stream.start != request.start:
            stream = _Stream(request.start, *divmod(request.start, self.service.per_page))
            stream.ended = stream.page >= self.service.most_pages
        stream.start = request.start + request.k
        self._streams[search] = stream
        if len(self._streams) > KEPT:
            del self._streams[next(iter(self._streams))]
        return stream

    def _add(self, progress: _Progress, stream: _Stream, page: Page) -> None:
        stream.page += 1
        stream.rest += page.documents[stream.skip :]
        stream.skip = 0
        progress.pages += 1
        progress.archive_ids += [page.archive_id] * bool(page.archive_id)
        if not page.documents or not page.more or stream.page >= self.service.most_pages:
            stream.ended = True
            progress.detail = f"the results ended on page {stream.page}"

    def _snapshot(self, progress: _Progress, stream: _Stream) -> SearchSnapshot:
        request = progress.request
        kept = distinct(stream.rest, request.k)
        stream.rest = [*distinct(stream.rest, len(stream.rest))[len(kept) :]]
        partial = len(kept) < request.k
        observed = request.dates.last_second if request.dates else self._clock.now()
        return SearchSnapshot(
            query=request.query,
            observed_at=whole_milliseconds(observed),
            documents=kept,
            provenance=Provenance.DATE_RESTRICTED if request.dates else Provenance.LIVE,
            retrieval=Retrieval(
                engine=self.service.engine(request),
                pages=progress.pages,
                archive_ids=tuple(progress.archive_ids),
                partial=partial,
                detail=progress.detail[:300] if partial else "",
            ),
        )

    def _page(self, progress: _Progress, page: int) -> Page:
        """Request a page until it succeeds, the attempts are used up or the deadline has passed."""
        paid = False
        enough = stop_after_attempt(self._options.attempts)
        call = self.service.call(progress.request, page)
        pause = wait_random_exponential(self._options.first_pause_s, self._options.longest_pause_s)

        def attempt() -> Page:
            nonlocal paid
            if not paid:
                self._pay()
                paid = True
            self._wait_turn(progress)
            self.counts.requests += 1
            try:
                answer = self._client.search(call, seconds=self._seconds_left(progress))
                return self.service.read(answer, page, self._clock.now())
            except SearchFailedError as failure:
                paid = failure.kind not in MAY_HAVE_COST
                raise

        def count_retry(_: RetryCallState) -> None:
            self.counts.retries += 1

        def stop(state: RetryCallState) -> bool:
            late = self._clock.monotonic() + state.upcoming_sleep >= progress.deadline
            return late or enough(state)

        retrying = Retrying(
            retry=retry_if_exception(lambda e: isinstance(e, SearchError) and e.retryable),
            wait=lambda state: max(pause(state), _asked_for(state)),
            stop=stop,
            before_sleep=count_retry,
            sleep=self._pause,
            reraise=True,
        )
        return retrying(attempt)

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

    def _seconds_left(self, progress: _Progress) -> float:
        left = progress.deadline - self._clock.monotonic()
        if left <= 0.0:
            raise SearchFailedError(FailureClass.TIMEOUT, "the search took too long")
        return left


def period_of(moment: datetime) -> str:
    """Return the calendar month, UTC, whose budget pays a search at this moment.

    >>> period_of(datetime(2025, 3, 31, 23, 59, tzinfo=UTC))
    '2025-03'
    """
    return moment.astimezone(UTC).strftime("%Y-%m")


def _asked_for(state: RetryCallState) -> float:
    """Return the pause in seconds that the service asks for."""
    failure = state.outcome.exception() if state.outcome else None
    return failure.retry_after_s if isinstance(failure, SearchFailedError) else 0.0
