"""Settings of the ledger of sources."""

from typing import Annotated

from pydantic import Field

from radarstream.schemas.section import Section
from radarstream.schemas.sites import Granularity
from radarstream.schemas.sources import LedgerRules

_RULES = LedgerRules()


class SourceSettings(Section):
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
    half_life_days: Annotated[
        float, Field(gt=0.0, description="evidence counts half after so many days of event time")
    ] = _RULES.half_life_days
    confirmed: Annotated[
        float,
        Field(
            ge=0.0,
            le=1.0,
            description="what a wrong answer counts that a person or trusted senders confirmed",
        ),
    ] = _RULES.confirmed
    detected: Annotated[
        float,
        Field(
            ge=0.0, le=1.0, description="what a wrong answer counts that the pipeline alone found"
        ),
    ] = _RULES.detected
    agreement: Annotated[
        float, Field(ge=0.0, le=1.0, description="what supporting a borne-out answer counts")
    ] = _RULES.agreement
    dishonest_per_day: Annotated[
        float, Field(ge=0.0, description="most that a day of event time adds against a source")
    ] = _RULES.dishonest_per_day
    honest_per_day: Annotated[
        float, Field(ge=0.0, description="most that a day of event time adds in its favour")
    ] = _RULES.honest_per_day

    @property
    def rules(self) -> LedgerRules:
        """The value that the ledger takes."""
        return LedgerRules(**self.model_dump(exclude={"block", "learn", "granularity"}))
