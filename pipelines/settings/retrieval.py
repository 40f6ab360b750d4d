"""How much of a page is read, which search results a defence sees, and who chooses them."""

from ipaddress import IPv4Network, IPv6Network
from typing import Any, Self

from pydantic import Field, model_validator

from radarstream.schemas.section import Section


class RetrievalSettings(Section):
    """Which reranker chooses what the defence sees; the name "" means that it sees everything."""

    name: str = ""
    """which reranker chooses documents; empty = none"""
    options: dict[str, Any] = {}
    """options of the reranker, by name"""
    keep: int = Field(default=10, ge=1)
    """most documents of a snapshot that the defence sees"""
    models: dict[str, dict[str, Any]] = {}
    """models that only rerankers ask, by name, each with its `kind`"""

    @model_validator(mode="after")
    def _options_have_a_name(self) -> Self:
        if self.options and not self.name:
            raise ValueError("`options` are set without a `name`: they belong to a reranker")
        return self

    @model_validator(mode="after")
    def _no_noise(self) -> Self:
        if self.name == "dp_rag":
            raise ValueError("`dp_rag` hides nothing here: its documents and its seed are known")
        return self


class ReadingSettings(Section):
    """How many pages a model reads, and which parts of long ones: the windows that fit the question
    best.

    Queries that ask for a long answer are read from the start, as far as a prompt has room.
    """

    windows: int = Field(default=5, ge=0, le=100)
    """most windows of a long page that are read; 0 = pages are read from the start"""
    window_characters: int = Field(default=220, ge=40, le=2_000)
    """most characters of one window"""
    whole_characters: int = Field(default=1_200, ge=0)
    """characters (title and text) up to which a page is read whole"""
    block: int = Field(default=3, ge=1, le=100)
    """documents that are read at once, in rank order, until no more are needed"""
    unconfirmed: int = Field(default=10, ge=1, le=100)
    """documents that are read at least before an answer is given that no memory confirms; all are
    for one that differs from the last"""
    most_documents: int = Field(default=50, ge=1)
    """documents of a snapshot after which no more are read"""
    most_seconds: float = Field(default=60.0, gt=0.0)
    """seconds after which no more documents are read"""
    further_searches: int = Field(default=2, ge=0, le=10)
    """how often a user's question may go on to ten more documents, a result page of the web or the
    next of the corpus, until its answer is settled"""


class DocumentSettings(Section):
    """Documents that are given with a question, and what to read each may cost."""

    most_bytes: int = Field(default=16 * 2**20, ge=2**10)
    """most bytes of a file or page"""
    parse_seconds: int = Field(default=20, ge=1)
    """seconds of processor time to find the text; four times that by the clock"""
    parse_bytes: int = Field(default=512 * 2**20, ge=32 * 2**20)
    """bytes of memory to find the text"""
    inner_networks: tuple[IPv4Network | IPv6Network, ...] = ()
    """networks besides the public internet whose addresses may be fetched, as 10.1.0.0/16; hostile
    pages may then lead there too"""
