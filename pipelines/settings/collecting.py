"""Settings of collecting: how a watchlist is fetched. The search service has its own section."""

from typing import Annotated

from pydantic import Field

from radarstream.connectors.webpages.options import PageOptions
from radarstream.schemas.section import Section

HOUR = 3600.0


class WatchSettings(Section):
    """How `radarstream watch` goes through its list."""

    fetch_pages: Annotated[
        bool, Field(description="read the result pages, not only their snippets")
    ] = False
    pages: PageOptions = PageOptions()
    lease_s: Annotated[
        float, Field(gt=0.0, description="a fetch that takes longer may be done again by another")
    ] = 900.0
    first_pause_s: Annotated[
        float, Field(gt=0.0, description="after a query's first failure; doubles with each more")
    ] = 60.0
    longest_pause_s: Annotated[
        float, Field(gt=0.0, description="longest pause of a query that fails")
    ] = 6 * HOUR
    exhausted_pause_s: Annotated[
        float, Field(gt=0.0, description="of all queries, when credits or searches are used up")
    ] = HOUR
    publish_attempts: Annotated[int, Field(ge=1, description="tries to publish one snapshot")] = 6
