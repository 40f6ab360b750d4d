"""Fetches every watched query when it is due: claim it, search, publish, record the fetch.

After a crash the claim expires, and the query is fetched again. Unpublished snapshots stay in
memory until the broker answers. The most overdue query comes first. If its last answer was not
settled, further searches may follow.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import structlog
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt
from tenacity.wait import wait_random_exponential

from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.connectors.search.paged import period_of
from radarstream.connectors.state_table.database.engine import is_transient
from radarstream.connectors.state_table.queries.outbox import Sink
from radarstream.connectors.state_table.queries.watchlist import (
    WatchedQuery,
    claim,
    credits_used,
    load_active,
    record_fetch,
    replace_all,
)
from radarstream.connectors.state_table.serving.kept_events import find_event
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.job.collecting.watchlist import read_watchlist
from radarstream.pipelines.job.stopping import AskedToStopError, Stop
from radarstream.pipelines.job.telemetry.logs import configure_logging
from radarstream.pipelines.job.telemetry.metrics import CollectingMetrics
from radarstream.pipelines.job.waiting import starting
from radarstream.pipelines.searching import Search, answers_in, opened_search, searches
from radarstream.pipelines.settings import Settings, WatchSettings
from radarstream.pipelines.settings.watched import Watched, entry_of, table_entries
from radarstream.schemas import errors
from radarstream.schemas.codec import outbox_record
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.searching import FailureClass, SearchFailedError, SearchRequest
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.times import Clock, milliseconds

LEASE_MS: Final = 900_000  # then another collector may repeat an unfinished search
EXHAUSTED_PAUSE_S: Final = 3_600.0  # for all queries, when credits or searches are used up
PUBLISH_ATTEMPTS: Final = 6
TICK_S: Final = 1.0  # delay until a signal is noticed
LOOK_AGAIN_S: Final = 30.0  # delay until another process's change of the table is noticed
PUBLISH_PAUSE_S: Final = 10.0
DATABASE_PAUSE_S: Final = 5.0
DAMAGED, UNPUBLISHED = "damaged_entry", "unpublished"  # failures beside those of a search
EXHAUSTED: Final = (FailureClass.OUT_OF_SEARCHES, FailureClass.OUT_OF_BUDGET)

log = structlog.get_logger("radarstream")


@dataclass
class Collector:
    """Fetches queries one by one. Several collectors may share a table; one claims each query."""

    search: Search
    sink: Sink
    engine: Engine
    clock: Clock
    settings: WatchSettings
    metrics: CollectingMetrics
    in_a_row: dict[str, int] = field(default_factory=dict)  # failures, by query
    unpublished: dict[tuple[str, str], SearchSnapshot] = field(default_factory=dict)
    quiet_until: float = 0.0  # monotonic time before which nothing is due

    def replace(self, entries: tuple[Watched, ...]) -> None:
        """Replace the list in one transaction. Unchanged entries keep their times."""
        replace_all(self.engine, table_entries(entries), self._now_ms())
        self.quiet_until = 0.0

    def run(self, stopping: Callable[[], bool], every_turn: Callable[[], None]) -> None:
        """Fetch due queries until asked to stop; `every_turn` runs about once a second. Waits for a
        database that restarts; the fetch is repeated after its claim expires.
        """
        while not stopping():
            try:
                every_turn()
                fetched = self.fetch_next()
            except DBAPIError as error:
                if not is_transient(error):
                    raise
                log.warning("the database does not answer", error=error)
                self.clock.wait(DATABASE_PAUSE_S)
                continue
            if not fetched:
                self.clock.wait(TICK_S)

    def fetch_due_once(self, stopping: Callable[[], bool]) -> int:
        """Fetch every query that is due now, once, and return the number of failures."""
        failures = 0
        for watched in self._due(self._now_ms()):
            if stopping():
                break
            now_ms = self._now_ms()  # the lease starts here, after the earlier fetches
            if self._claim(watched, now_ms) and not self._fetch(watched, now_ms):
                failures += 1
                if self.clock.monotonic() < self.quiet_until:
                    break  # credits or searches are used up
        return failures

    def fetch_next(self) -> bool:
        """Fetch the most overdue query; False if none is due."""
        if self.clock.monotonic() < self.quiet_until:
            return False
        now_ms = self._now_ms()
        for watched in self._due(now_ms):
            if self._claim(watched, now_ms):
                self._fetch(watched, now_ms)
                return True
        return False

    def _due(self, now_ms: int) -> list[WatchedQuery]:
        watched = load_active(self.engine)
        due = sorted(
            (each for each in watched if each.next_due_ms <= now_ms),
            key=lambda each: each.next_due_ms,
        )
        self.metrics.watched.set(len(watched))
        self.metrics.overdue.set(len(due))
        if not due:
            waits = [(each.next_due_ms - now_ms) / 1000 for each in watched]
            self._pause_all(min([LOOK_AGAIN_S, *waits]))
        return due

    def _claim(self, watched: WatchedQuery, now_ms: int) -> bool:
        due_ms = watched.next_due_ms
        return claim(self.engine, watched.query_id, due_ms, now_ms, LEASE_MS)

    def _fetch(self, watched: WatchedQuery, claimed_ms: int) -> bool:
        """Search, publish and record; True if the snapshot was published."""
        try:
            entry = entry_of(watched.entry)
        except errors.ConfigurationError:
            return self._failed(watched, claimed_ms, DAMAGED)
        try:
            snapshot = self._snapshot(watched, entry)
        except SearchFailedError as error:
            return self._search_failed(watched, claimed_ms, error.kind)
        except errors.SearchError:
            return self._failed(watched, claimed_ms, FailureClass.UNAVAILABLE)
        if not self._publish(watched, snapshot):
            return self._failed(watched, claimed_ms, UNPUBLISHED)
        self._succeed(watched, claimed_ms, entry, snapshot)
        return True

    def _snapshot(self, watched: WatchedQuery, entry: Watched) -> SearchSnapshot:
        kept = self.unpublished.pop((watched.query_id, watched.entry), None)
        if kept is not None:
            return kept
        answers = self._unsettled(entry)
        further = 0 if answers is None else self.settings.further_searches
        self.metrics.deeper.inc(further > 0)
        with self.metrics.seconds.time():
            *_, found = searches(self.search, entry.request, further, answers or ())
        return found

    def _unsettled(self, entry: Watched) -> tuple[str, ...] | None:
        """Answers of the query's last step if it wanted or used further searches, else None."""
        if not self.settings.further_searches:
            return None
        last = find_event(self.engine, entry.query.id)
        if last is None or not (last.wanted_more or any(d.rank > entry.k for d in last.seen)):
            return None
        return answers_in(last)

    def _publish(self, watched: WatchedQuery, snapshot: SearchSnapshot) -> bool:
        retrying = Retrying(
            retry=retry_if_exception_type(errors.BrokerError),
            wait=wait_random_exponential(max=PUBLISH_PAUSE_S),
            stop=stop_after_attempt(PUBLISH_ATTEMPTS),
            sleep=self.clock.wait,
            reraise=True,
        )
        try:
            retrying(self.sink.publish, [outbox_record(snapshot)])
        except errors.BrokerError:
            self.unpublished[watched.query_id, watched.entry] = snapshot
            return False
        except errors.RecordTooLargeError:  # a retry would not help
            return False
        return True

    def _succeed(
        self, watched: WatchedQuery, claimed_ms: int, entry: Watched, snapshot: SearchSnapshot
    ) -> None:
        fetched_ms = self._now_ms()
        self._give_back(watched, claimed_ms, entry.next_due_ms(fetched_ms), fetched_ms)
        self.in_a_row.pop(watched.query_id, None)
        self.metrics.collected(snapshot)
        log.info(
            "collected",
            query_id=watched.query_id,
            snapshot_id=snapshot.id,
            records=len(snapshot.documents),
            pages=snapshot.retrieval.pages if snapshot.retrieval else None,
            state="partial" if snapshot.retrieval and snapshot.retrieval.partial else "complete",
        )

    def _search_failed(
        self, watched: WatchedQuery, claimed_ms: int, kind: FailureClass
    ) -> Literal[False]:
        if kind is not FailureClass.STOPPED and kind not in EXHAUSTED:
            return self._failed(watched, claimed_ms, kind)
        self._give_back(watched, claimed_ms, watched.next_due_ms)
        if kind in EXHAUSTED:
            self.metrics.failures.labels(kind).inc()
            self._pause_all(EXHAUSTED_PAUSE_S)
            log.warning("searching pauses", failure=kind, pause_s=EXHAUSTED_PAUSE_S)
        return False

    def _failed(self, watched: WatchedQuery, claimed_ms: int, failure: str) -> Literal[False]:
        times = self.in_a_row[watched.query_id] = self.in_a_row.get(watched.query_id, 0) + 1
        first, longest = self.settings.first_pause_s, self.settings.longest_pause_s
        pause_s = min(longest, first * 2.0 ** min(times - 1, 60))
        self.metrics.failures.labels(failure).inc()
        self._give_back(watched, claimed_ms, self._now_ms() + int(pause_s * 1000))
        log.warning(
            "not collected",
            query_id=watched.query_id,
            failure=failure,
            attempt=times,
            pause_s=pause_s,
        )
        return False

    def _give_back(
        self, watched: WatchedQuery, claimed_ms: int, due_ms: int, fetched_ms: int | None = None
    ) -> None:
        """End the claim; the query is due again at `due_ms`. `fetched_ms` notes a fetch."""
        record_fetch(
            self.engine,
            watched.query_id,
            claimed_ms + LEASE_MS,
            fetched_ms=fetched_ms,
            next_due_ms=due_ms,
        )

    def _pause_all(self, seconds: float) -> None:
        self.quiet_until = self.clock.monotonic() + seconds

    def _now_ms(self) -> int:
        return milliseconds(self.clock.now())


def watch_list(settings: Settings, file: Path | None, *, once: bool) -> int:
    """Collect until SIGTERM and return 0, or collect due queries `once` and return the number of
    failures. SIGHUP reads the file again; without a file, the table is the list.
    """
    configure_logging(settings.telemetry)
    stop = Stop()
    stop.install()
    entries = read_watchlist(file) if file else None
    opened = opened_collector(settings, stop, patient=not once)
    with suppress(AskedToStopError), opened as (collector, turn):
        if entries is not None:
            collector.replace(entries)
        if once:
            return collector.fetch_due_once(stop)

        def every_turn() -> None:
            turn()
            if stop.reload.is_set() and file is not None:
                stop.reload.clear()
                try:
                    read_again(collector, file)
                except DBAPIError:
                    stop.reload.set()  # repeat it when the database answers
                    raise

        log.info("watching", state="ready", queries=len(entries) if entries is not None else None)
        collector.run(stop, every_turn)
    log.info("stopped", state="asked to")
    return 0


def read_again(collector: Collector, file: Path) -> None:
    """Replace the list by the file's entries; a file with a mistake changes nothing."""
    try:
        entries = read_watchlist(file)
    except ConfigurationError:
        log.exception("the watchlist stays as it was")
        return
    collector.replace(entries)
    log.info("watchlist read again", queries=len(entries))


@contextmanager
def opened_collector(
    settings: Settings, stop: Stop, *, patient: bool = True
) -> Iterator[tuple[Collector, Callable[[], None]]]:
    """Connect to all services, waiting if `patient`; yield the collector and a function to call at
    every turn. Raises AskedToStopError.
    """
    clock = stop.clock
    with ExitStack() as opened:
        search, found = opened.enter_context(opened_search(settings, clock, pages=True))
        metrics = CollectingMetrics(found)
        start = starting(settings, stop, metrics.registry, ("broker", "database"), patient=patient)
        waiting = opened.enter_context(start)
        engine = waiting.until("database", lambda: shared_engine(settings))
        waiting.until("broker", lambda: ensure_topics(settings.kafka))
        sink = opened.enter_context(KafkaSink(settings.kafka))

        def turn() -> None:
            waiting.health.tick()
            metrics.budget.set(settings.search.monthly_credits)
            metrics.used.set(credits_used(engine, period_of(clock.now())))

        def searched(request: SearchRequest) -> SearchSnapshot:
            with waiting.health.busy("search"):
                return search(request)

        yield Collector(searched, sink, engine, clock, settings.watch, metrics), turn
