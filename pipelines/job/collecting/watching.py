"""Puts the collector together from its settings."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import structlog
from sqlalchemy.exc import DBAPIError

from radarstream.connectors.kafka.sink import KafkaSink
from radarstream.connectors.kafka.topics import ensure_topics
from radarstream.connectors.search.paged import PagedSearch, period_of
from radarstream.connectors.state_table.queries.watchlist import credits_used
from radarstream.connectors.webpages.reading import PageReader
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.job.collecting.collector import Collector
from radarstream.pipelines.job.collecting.watchlist import read_watchlist
from radarstream.pipelines.job.stopping import AskedToStopError, Stop, SystemClock
from radarstream.pipelines.job.telemetry.health import Health
from radarstream.pipelines.job.telemetry.logs import configure_logging
from radarstream.pipelines.job.telemetry.metrics import CollectingMetrics
from radarstream.pipelines.job.waiting import starting
from radarstream.pipelines.searching import opened_search
from radarstream.pipelines.settings import Settings, WatchSettings
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.searching import SearchRequest
from radarstream.schemas.snapshot import SearchSnapshot

log = structlog.get_logger("radarstream")


def watch_list(settings: Settings, file: Path | None, *, once: bool) -> int:
    """Collect until SIGTERM, or once what is due; return how many fetches failed then. SIGHUP reads
    the file again; without one the list is the table's.
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
                    stop.reload.set()  # once more, when the database is back
                    raise

        log.info("watching", state="ready", queries=len(entries) if entries is not None else None)
        collector.run(stop, every_turn)
    log.info("stopped", state="asked to")
    return 0


def read_again(collector: Collector, file: Path) -> None:
    """Replace the list by what the file says now; a file with a mistake changes nothing."""
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
    """Connect to everything, waiting if `patient`; yield the collector and what it does at every
    turn. Raises AskedToStopError.
    """
    clock = SystemClock(stop)
    with ExitStack() as opened:
        search = opened.enter_context(opened_search(settings, clock))
        metrics = CollectingMetrics(search.counts)
        start = starting(settings, stop, metrics.registry, ("broker", "database"), patient=patient)
        waiting = opened.enter_context(start)
        engine = waiting.until("database", lambda: shared_engine(settings))
        waiting.until("broker", lambda: ensure_topics(settings.kafka))
        sink = opened.enter_context(KafkaSink(settings.kafka))

        def turn() -> None:
            waiting.health.tick()
            metrics.budget.set(settings.search.monthly_credits)
            metrics.used.set(credits_used(engine, period_of(clock.now())))

        searching = closing(Searching(search, settings.watch, waiting.health))
        searcher = opened.enter_context(searching)
        yield Collector(searcher, sink, engine, clock, settings.watch, metrics), turn


class Searching:
    """A search that counts as a sign of life, with page text if the settings ask for it."""

    def __init__(self, search: PagedSearch, settings: WatchSettings, health: Health) -> None:
        self._search = search
        self._health = health
        self._reader = PageReader(settings.pages) if settings.fetch_pages else None

    def search(self, request: SearchRequest) -> SearchSnapshot:
        """Return the snapshot of a request."""
        with self._health.busy("search"):
            found = self._search.search(request)
            return self._reader.with_pages(found) if self._reader else found

    def close(self) -> None:
        """End what reads pages."""
        if self._reader:
            self._reader.close()
