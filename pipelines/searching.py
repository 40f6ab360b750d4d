"""Searches by the configured service, within the budget of the month, with further searches."""

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Final

from radarstream.connectors.search.brave import Brave
from radarstream.connectors.search.options import SearchOptions
from radarstream.connectors.search.paged import PagedSearch, SearchCounts, period_of
from radarstream.connectors.search.results import distinct
from radarstream.connectors.search.searxng import SearXng
from radarstream.connectors.search.serpapi import SerpApi
from radarstream.connectors.search.service import SearchService
from radarstream.connectors.search.tavily import Tavily
from radarstream.connectors.state_table.queries.watchlist import spend_credit
from radarstream.defenses.keywords import content_runs
from radarstream.defenses.options import Registry
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import ConfigurationError, SearchError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.searching import FURTHER_DOCUMENTS, SearchRequest
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.times import Clock

if TYPE_CHECKING:
    from radarstream.connectors.search.client import SearchClient

SEARCHES: Final[Registry[SearchService]] = Registry(
    "searches",
    {service.name: service for service in (SerpApi, SearXng, Brave, Tavily)},
    kind="search service",
)
# Yields all results so far, more each time. Receives answers, which are not searched for.
Finding = Generator[SearchSnapshot, Sequence[str] | None, None]

# Returns a snapshot for a request. Raises SearchError, and ConfigurationError, which ends the job.
Search = Callable[[SearchRequest], SearchSnapshot]

logger = logging.getLogger(__name__)


def search_service(options: SearchOptions) -> SearchService:
    """Create the configured service. Raises ConfigurationError."""
    return SEARCHES.build(options.name, options.options)


def search_client(options: SearchOptions) -> "SearchClient":
    """Create a client of that service, with its key. Raises ConfigurationError."""
    from radarstream.connectors.search.client import SearchClient  # slow to import

    return SearchClient(search_service(options), options)


def has_search(options: SearchOptions) -> bool:
    """Whether a search is set up: the service that the settings name has its key, or needs none."""
    try:
        search_client(options).close()
    except ConfigurationError:
        return False
    return True


def check_search(options: SearchOptions) -> str:
    """Say that the service answers and accepts the key, without a search. Raises SearchError,
    ConfigurationError.
    """
    with closing(search_client(options)) as client:
        return client.check()


@contextmanager
def opened_search(
    settings: Settings, clock: Clock, *, pages: bool = False
) -> Iterator[tuple[Search, SearchCounts]]:
    """Yield a search that books credits in the state database, and its counts. With `pages` and
    `watch.fetch_pages`, it also reads the pages of the results.
    """

    def spend(amount: int) -> bool:
        period, budget = period_of(clock.now()), settings.search.monthly_credits
        return spend_credit(shared_engine(settings), period, amount, budget)

    client = search_client(settings.search)
    with ExitStack() as opened:
        opened.enter_context(closing(client))
        found = PagedSearch(client, settings.search, clock, spend)
        search = found.search
        if pages and settings.watch.fetch_pages:
            from radarstream.connectors.webpages.reading import PageReader

            reader = opened.enter_context(PageReader(settings.watch.pages))

            def search(request: SearchRequest) -> SearchSnapshot:
                return reader.with_pages(found.search(request))

        yield search, found.counts


def searches(
    search: Search, request: SearchRequest, further: int, answers: Sequence[str] = ()
) -> Finding:
    """Yield the results of a request, then those of up to `further` more searches added.

    Each asks for ten more results; the last one, or one after a search without new results, asks
    for `other_words` without the `answers`. A failed further search is the last. The first search
    raises as `search`.
    """
    found = search(request)
    answers = (yield found) or answers
    ended = False
    for left in reversed(range(further)):
        last = ended or (request.start and not left)
        words = other_words(request.query.text, answers) if last else ""
        if ended and not words:
            return
        start = 0 if words else request.start + request.k
        request = replace(request, k=FURTHER_DOCUMENTS, start=start, words=words)
        try:
            more = joined(found, search(request))
        except SearchError as error:
            logger.warning("a further search failed: %s", error)
            return
        ended, found = len(more.documents) == len(found.documents), more
        answers = (yield found) or answers
        if words:
            return


def joined(before: SearchSnapshot, more: SearchSnapshot) -> SearchSnapshot:
    """Return the later snapshot with the documents of both, each address once."""
    documents = (*before.documents, *more.documents)
    both = before.retrieval, more.retrieval
    retrieval = more.retrieval and replace(
        more.retrieval,
        pages=sum(one.pages for one in both if one),
        archive_ids=tuple(chain.from_iterable(one.archive_ids for one in both if one)),
    )
    return replace(more, documents=distinct(documents, len(documents)), retrieval=retrieval)


def other_words(question: str, answers: Sequence[str]) -> str:
    """Return the content words of a question, in order, without answers that it names.

    "" if fewer than two are left, or if these are all words of the question. Only English function
    words are known.

    >>> other_words("Is Lima or Cusco the capital of Peru?", ["Lima", "The city of Cusco", "Cusco"])
    'capital peru'
    """
    left = f" {_content(question)} "
    for answer in map(_content, answers):
        if answer:
            left = left.replace(f" {answer} ", " ")
    words = left.split()
    return " ".join(words) if 2 <= len(words) < len(question.split()) else ""


def _content(text: str) -> str:
    return " ".join(chain.from_iterable(content_runs(text.casefold())))


def answers_in(event: AnswerEvent) -> tuple[str, ...]:
    """Return the answer or candidate of an event, and its strongest rival."""
    rival = event.support.rival_answer if event.support else None
    return tuple(answer for answer in (event.verdict.weighed, rival) if answer)
