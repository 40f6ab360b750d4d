"""How large the corpus may get, for how long it keeps what was found, and how it is searched."""

from typing import Annotated

from pydantic import Field

from radarstream.schemas.section import Section


class CorpusOptions(Section):
    """Documents that questions can be answered from; a user's own are never deleted by these."""

    archive: Annotated[
        bool, Field(description="keep the documents of every snapshot that is answered")
    ] = False
    max_texts: Annotated[
        int, Field(ge=1, description="found documents that are kept; those not seen longest go")
    ] = 100_000
    retention_days: Annotated[
        int, Field(ge=1, description="found documents go when no query has found them for so long")
    ] = 365
    approximate_above: Annotated[
        int,
        Field(
            ge=1_000,
            description="above so many texts, a process that searches often does so "
            "approximately (extra `corpus`)",
        ),
    ] = 200_000
