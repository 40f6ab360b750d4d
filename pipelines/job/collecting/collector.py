"""Fetches every watched query when it is due, and publishes what was found.

Plain code over a clock and a table. The order of things is: claim the query, search, publish the
snapshot, record the fetch. A crash before the record leaves the claim to run out, after which the
query is fetched again: its new snapshot has a later event time and simply follows the first. What
was paid for and could not be published is kept in memory until the broker is back.

After a pause of hours a query is fetched once, not once for every time it missed, the most overdue
first; the pace of the search client spaces them, and jitter keeps them apart from then on.
"""

from collections.abc import Callable
from typing import Final, Protocol

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_random_exponential

from radarstream.connectors.serpapi.failures import FailureClass, SearchFailedError
from radarstream.connectors.serpapi.request import SearchRequest
from radarstream.connectors.state_table.database.engine import is_transient
from radarstream.connectors.state_table.queries.watchlist import (
    WatchedQuery,
    claim,
    load_active,
    record_fetch,
    replace_all,
)
from radarstream.pipelines.job.answering.ports import Clock, EventSink
from radarstream.pipelines.job.collecting.metrics import CollectingMetrics
from radarstream.pipelines.job.collecting.watched import Watched
from radarstream.pipelines.job.collecting.watchlist import entry_of, table_entries
from radarstream.pipelines.settings import WatchSettings
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.errors import BrokerError, ConfigurationError, SearchError
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.times import milliseconds

TICK_S: Final = 1.0  # how soon a signal is noticed
LOOK_AGAIN_S: Final = 30.0  # how soon a change of the table by somebody else is noticed
PUBLISH_PAUSE_S: Final = 10.0
DATABASE_PAUSE_S: Final = 5.0
DAMAGED, UNPUBLISHED = "damaged_entry", "unpublished"  # failures beside those of a search
EXHAUSTED: Final = (FailureClass.OUT_OF_SEARCHES, FailureClass.OUT_OF_BUDGET)

log = structlog.get_logger("radarstream")


class Searcher(Protocol):
    """What finds documents; `SerpApiSearch` in earnest."""

    def search(self, request: SearchRequest) -> SearchSnapshot:
        """Return a snapshot. Raises SearchError, and ConfigurationError to stop everything."""
        ...


class Collector:
    """One fetch after another. Several collectors may share a table; each query has one winner."""

    def __init__(
        self,
        *,
        searcher: Searcher,
        sink: EventSink,
        engine: Engine,
        clock: Clock,
        settings: WatchSettings,
        metrics: CollectingMetrics,
    ) -> None:
        self.metrics = metrics
        self._searcher = searcher
        self._sink = sink
        self._engine = engine
        self._clock = clock
        self._settings = settings
        self._failed: dict[str, int] = {}
        self._unpublished: dict[tuple[str, str], SearchSnapshot] = {}
        self._quiet_until = 0.0

    def replace(self, entries: tuple[Watched, ...]) -> None:
        """Make these the list, at once. Entries that say the same keep their times."""
        replace_all(self._engine, table_entries(entries), self._now_ms())
        self._quiet_until = 0.0

    def run(self, stopping: Callable[[], bool], every_turn: Callable[[], None]) -> None:
        """Fetch what is due until asked to stop; `every_turn` runs about once a second.

        A database that restarts is waited for. A fetch that it interrupted is done again when its
        claim has run out.
        """
        while not stopping():
            try:
                every_turn()
                fetched = self.fetch_next()
            except DBAPIError as error:
                if not is_transient(error):
                    raise
                log.warning("the database does not answer", error=error)
                self._clock.wait(DATABASE_PAUSE_S)
                continue
            if not fetched:
                self._clock.wait(TICK_S)

    def fetch_due_once(self, stopping: Callable[[], bool]) -> int:
        """Fetch every query that is due now, once, and return how many of them failed."""
        now_ms, failures = self._now_ms(), 0
        for watched in self._due(now_ms):
            if stopping():
                break
            if self._claim(watched, now_ms) and not self._fetch(watched, now_ms):
                failures += 1
                if self._clock.monotonic() < self._quiet_until:
                    break  # nothing left to search with
        return failures

    def fetch_next(self) -> bool:
        """Fetch the query that is most overdue; False when there is none at present."""
        if self._clock.monotonic() < self._quiet_until:
            return False
        now_ms = self._now_ms()
        for watched in self._due(now_ms):
            if self._claim(watched, now_ms):
                self._fetch(watched, now_ms)
                return True
        return False

    def _due(self, now_ms: int) -> list[WatchedQuery]:
        watched = load_active(self._engine)
        due = sorted(
            (each for each in watched if each.next_due_ms <= now_ms),
            key=lambda each: each.next_due_ms,
        )
        self.metrics.watching(len(watched), len(due))
        if not due:
            waits = [(each.next_due_ms - now_ms) / 1000 for each in watched]
            self._pause_all(min([LOOK_AGAIN_S, *waits]))
        return due

    def _claim(self, watched: WatchedQuery, now_ms: int) -> bool:
        lease = self._lease_ms
        return claim(self._engine, watched.query_id, watched.next_due_ms, now_ms, lease)

    def _fetch(self, watched: WatchedQuery, claimed_ms: int) -> bool:
        """Search, publish and record; True when the snapshot is out."""
        try:
            entry = entry_of(watched.entry)
        except ConfigurationError:
            self._fail(watched, claimed_ms, DAMAGED)
            return False
        try:
            snapshot = self._snapshot(watched, entry)
        except SearchFailedError as failure:
            self._fail_search(watched, claimed_ms, failure.kind)
            return False
        except SearchError:
            self._fail(watched, claimed_ms, FailureClass.UNAVAILABLE)
            return False
        if not self._publish(watched, snapshot):
            self._fail(watched, claimed_ms, UNPUBLISHED)
            return False
        self._succeed(watched, claimed_ms, entry, snapshot)
        return True

    def _snapshot(self, watched: WatchedQuery, entry: Watched) -> SearchSnapshot:
        kept = self._unpublished.pop((watched.query_id, watched.entry), None)
        if kept is not None:
            return kept
        with self.metrics.searching():
            return self._searcher.search(entry.request)

    def _publish(self, watched: WatchedQuery, snapshot: SearchSnapshot) -> bool:
        retrying = Retrying(
            retry=retry_if_exception_type(BrokerError),
            wait=wait_random_exponential(max=PUBLISH_PAUSE_S),
            stop=stop_after_attempt(self._settings.publish_attempts),
            sleep=self._clock.wait,
            reraise=True,
        )
        try:
            retrying(self._sink.publish, [outbox_record(snapshot)])
        except BrokerError:
            self._unpublished[watched.query_id, watched.entry] = snapshot
            return False
        except ConfigurationError:  # larger than the topic takes: it never will be published
            return False
        return True

    def _succeed(
        self, watched: WatchedQuery, claimed_ms: int, entry: Watched, snapshot: SearchSnapshot
    ) -> None:
        fetched_ms = self._now_ms()
        record_fetch(
            self._engine,
            watched.query_id,
            claimed_ms + self._lease_ms,
            fetched_ms=fetched_ms,
            next_due_ms=entry.next_due_ms(fetched_ms),
        )
        self._failed.pop(watched.query_id, None)
        self.metrics.collected(snapshot)
        log.info(
            "collected",
            query_id=watched.query_id,
            snapshot_id=snapshot.id,
            records=len(snapshot.documents),
            pages=snapshot.retrieval.pages if snapshot.retrieval else None,
            state="partial" if snapshot.retrieval and snapshot.retrieval.partial else "complete",
        )

    def _fail_search(self, watched: WatchedQuery, claimed_ms: int, kind: FailureClass) -> None:
        if kind is FailureClass.STOPPED:
            self._give_back(watched, claimed_ms, watched.next_due_ms)
        elif kind in EXHAUSTED:
            self.metrics.failed(kind)
            self._give_back(watched, claimed_ms, watched.next_due_ms)
            self._pause_all(self._settings.exhausted_pause_s)
            log.warning("searching pauses", failure=kind, pause_s=self._settings.exhausted_pause_s)
        else:
            self._fail(watched, claimed_ms, kind)

    def _fail(self, watched: WatchedQuery, claimed_ms: int, failure: str) -> None:
        times = self._failed.get(watched.query_id, 0) + 1
        self._failed[watched.query_id] = times
        first, longest = self._settings.first_pause_s, self._settings.longest_pause_s
        pause_s = min(longest, first * 2.0 ** min(times - 1, 60))
        self.metrics.failed(failure)
        self._give_back(watched, claimed_ms, self._now_ms() + int(pause_s * 1000))
        log.warning(
            "not collected",
            query_id=watched.query_id,
            failure=failure,
            attempt=times,
            pause_s=pause_s,
        )

    def _give_back(self, watched: WatchedQuery, claimed_ms: int, due_ms: int) -> None:
        record_fetch(
            self._engine,
            watched.query_id,
            claimed_ms + self._lease_ms,
            fetched_ms=None,
            next_due_ms=due_ms,
        )

    def _pause_all(self, seconds: float) -> None:
        self._quiet_until = self._clock.monotonic() + seconds

    @property
    def _lease_ms(self) -> int:
        return int(self._settings.lease_s * 1000)

    def _now_ms(self) -> int:
        return milliseconds(self._clock.now())
