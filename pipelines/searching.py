"""The search service as this project uses it: paid from the month's budget, asked for more."""

import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain

from radarstream.connectors.serpapi.options import RESULTS_PER_PAGE
from radarstream.connectors.serpapi.request import SearchRequest
from radarstream.connectors.serpapi.results import distinct
from radarstream.connectors.serpapi.search import SerpApiSearch, period_of
from radarstream.connectors.state_table.queries.watchlist import spend_credit
from radarstream.defenses.keywords import content_runs
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import SearchError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.times import Clock

# All that was found so far, and more each time. The answers that are sent are not searched for.
Finding = Generator[SearchSnapshot, Sequence[str] | None, None]

logger = logging.getLogger(__name__)


@contextmanager
def opened_search(settings: Settings, clock: Clock) -> Iterator[SerpApiSearch]:
    """Yield a search client that pays from the month's budget in the state database."""
    from radarstream.connectors.serpapi.client import SerpApiClient  # loads the web's libraries

    budget = settings.search.monthly_credits

    def spend(amount: int) -> bool:
        engine = shared_engine(settings)
        return spend_credit(engine, period_of(clock.now()), amount, budget)

    with closing(SerpApiClient(settings.search)) as client:
        yield SerpApiSearch(client, settings.search, clock, spend)


def searches(
    search: Callable[[SearchRequest], SearchSnapshot],
    request: SearchRequest,
    further: int,
    answers: Sequence[str] = (),
) -> Finding:
    """Yield what a request finds, then that with the results of up to `further` more searches.

    Each of these is one page: the next ones of the results, and at last, or after a page without
    anything new, one of `other_words` without the `answers`. A further search that fails is the
    last. Raises as `search` does at the first.
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
        request = replace(request, k=RESULTS_PER_PAGE, start=start, words=words)
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
    """The later snapshot with the documents of both, each address once, the earlier ones first."""
    documents = (*before.documents, *more.documents)
    told = before.retrieval, more.retrieval
    retrieval = more.retrieval and replace(
        more.retrieval,
        pages=sum(one.pages for one in told if one),
        archive_ids=tuple(chain.from_iterable(one.archive_ids for one in told if one)),
    )
    return replace(more, documents=distinct(documents, len(documents)), retrieval=retrieval)


def other_words(question: str, answers: Sequence[str]) -> str:
    """The content words of a question, in their order, without whole answers that it names.

    Empty where fewer than two are left, and where these are all that the question says. Function
    words are known of English alone.

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
    """The answer of an event, or what would have been one, and its strongest rival."""
    rival = event.support.rival_answer if event.support else None
    return tuple(answer for answer in (event.verdict.weighed, rival) if answer)
