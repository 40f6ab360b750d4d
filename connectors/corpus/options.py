"""Settings of the corpus."""

from typing import Annotated

from pydantic import Field

from radarstream.schemas.section import Section


class CorpusOptions(Section):
    """Documents that questions can be answered from. These limits never delete a user's own."""

    archive: bool = False
    """store the documents of every answered snapshot"""
    max_texts: Annotated[int, Field(ge=1)] = 100_000
    """most stored documents; those that no query found for the longest time are deleted"""
    retention_days: Annotated[int, Field(ge=1)] = 365
    """days after which a document is deleted that no query found again"""
