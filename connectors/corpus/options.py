"""How large the corpus may get, and for how long it keeps what was found."""

from typing import Annotated

from pydantic import Field

from radarstream.schemas.section import Section


class CorpusOptions(Section):
    """Documents that questions can be answered from; a user's own are never deleted by these."""

    archive: Annotated[
        bool, Field(description="store the documents of every answered snapshot")
    ] = False
    max_texts: Annotated[
        int,
        Field(
            ge=1,
            description="most stored documents; those not found for the longest time are deleted",
        ),
    ] = 100_000
    retention_days: Annotated[
        int,
        Field(ge=1, description="days after which a document is deleted that no query found again"),
    ] = 365
