"""Settings of the ledger of sources."""

from typing import Annotated

from pydantic import Field

from radarstream.schemas.sites import Granularity
from radarstream.schemas.sources import LedgerRules


class SourceSettings(LedgerRules):
    """Who is blamed for wrong answers, and what that counts.

    A defence listens by its option `source_prior`.
    """

    block: Annotated[
        bool, Field(description="leave out the documents of sources that a person blocked")
    ] = True
    learn: Annotated[
        bool,
        Field(
            description="sources that support an answer which the next snapshot bears out gain a"
            " little"
        ),
    ] = False
    granularity: Annotated[
        Granularity,
        Field(description="what a source is: site (registered domain), host, or its sections"),
    ] = "site"
