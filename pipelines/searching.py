"""The search service as this project uses it: paid from the month's budget."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from radarstream.connectors.serpapi.client import SerpApiClient
from radarstream.connectors.serpapi.search import SerpApiSearch, period_of
from radarstream.connectors.state_table.queries.watchlist import spend_credit
from radarstream.pipelines.build import shared_engine
from radarstream.pipelines.settings import Settings
from radarstream.schemas.times import Clock


@contextmanager
def opened_search(settings: Settings, clock: Clock) -> Iterator[SerpApiSearch]:
    """Yield a search client that pays from the month's budget in the state database."""
    budget = settings.search.monthly_credits

    def spend(amount: int) -> bool:
        engine = shared_engine(settings)
        return spend_credit(engine, period_of(clock.now()), amount, budget)

    with closing(SerpApiClient(settings.search)) as client:
        yield SerpApiSearch(client, settings.search, clock, spend)
