"""Where the documents of a question come from."""

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from threading import Lock
from time import sleep

from radarstream.connectors.closing import Closing
from radarstream.connectors.corpus.store import Corpus
from radarstream.pipelines.asking.known import KnownQueries, query_of
from radarstream.pipelines.asking.values import UserQuestion
from radarstream.pipelines.searching import Finding, Search, opened_search, searches
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Embedder
from radarstream.schemas.searching import FURTHER_DOCUMENTS, SearchRequest
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.times import Clock, SystemClock

MOST = 100  # results of one search


def given_documents(question: UserQuestion, wanted: int) -> Finding:
    """The documents that a user gives with the question, at their ranks."""
    ordered = sorted(question.documents, key=lambda document: document.rank)
    yield SearchSnapshot(query_of(question.text), question.asked_at, tuple(ordered[:wanted]))


def nearest(
    corpus: Corpus, embedder: Embedder, further: int, question: UserQuestion, wanted: int
) -> Finding:
    """The stored documents nearest by cosine, and more up to `further` times. Raises ModelError."""
    for most in range(wanted, wanted + FURTHER_DOCUMENTS * further + 1, FURTHER_DOCUMENTS):
        found = corpus.search(question.text, most, embedder)
        yield found_for(question, [text.document for text in found])
        if len(found) < most:
            return


def found_for(question: UserQuestion, documents: Iterable[Document]) -> SearchSnapshot:
    """Documents, the best first, as what was found for a question."""
    ranked = tuple(replace(d, rank=rank) for rank, d in enumerate(documents, start=1))
    return SearchSnapshot(query_of(question.text), question.asked_at, ranked)


def impatient_clock(longest_s: float) -> Clock:
    """The machine's clocks; a pause of more than `longest_s` seconds ends at once."""
    return SystemClock(lambda seconds: sleep(seconds) if 0 < seconds <= longest_s else None)


class WebSearch(Closing):
    """What the search service finds, with page texts if `watch.fetch_pages` says so; a watched
    question is searched for as the watchlist says. Opened at the first search, which needs a key.
    Searches take turns.
    """

    def __init__(self, settings: Settings, queries: KnownQueries) -> None:
        self._settings, self._queries = settings, queries
        self._lock = Lock()
        self._opened = ExitStack()
        self._search: Search | None = None

    def retrieve(self, question: UserQuestion, wanted: int) -> Finding:
        """The results of the first and further searches. Raises SearchError, ConfigurationError."""
        (known,) = self._queries.find([query_of(question.text)])
        request = replace(known.request, k=min(wanted, MOST))
        yield from searches(self._searched, request, self._settings.reading.further_searches)

    def close(self) -> None:
        """Release the connections."""
        with self._lock:
            self._opened.close()
            self._search = None

    def _searched(self, request: SearchRequest) -> SearchSnapshot:
        with self._lock:
            if self._search is None:
                clock = impatient_clock(self._settings.serving.timeout_s)
                opening = opened_search(self._settings, clock, pages=True)
                self._search, _ = self._opened.enter_context(opening)
            return self._search(request)
