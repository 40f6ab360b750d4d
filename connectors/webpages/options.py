"""Settings of the page reader, and its error."""

from typing import Annotated, NamedTuple

from pydantic import Field

from radarstream.schemas.section import Section


class PageError(Exception):
    """A page was not read; the text is a fixed word that labels metrics."""


class Raw(NamedTuple):
    """Received bytes, with the declared media type and charset, "" if not declared."""

    data: bytes
    media_type: str = ""
    charset: str = ""


class PageOptions(Section):
    """Limits of one page, and how many are fetched at once."""

    seconds: Annotated[float, Field(gt=0.0)] = 15.0
    """seconds for one page, redirects included"""
    page_bytes: Annotated[int, Field(ge=2**10)] = 2**20
    """most bytes of a page, both as sent and as decompressed"""
    text_bytes: Annotated[int, Field(ge=2**8)] = 64 * 2**10
    """most bytes of a page's text"""
    parse_seconds: Annotated[int, Field(ge=1)] = 5
    """seconds of processor time to extract a page's text; four times that by the clock"""
    parse_bytes: Annotated[int, Field(ge=32 * 2**20)] = 128 * 2**20
    """bytes of memory to extract a page's text"""
    redirects: Annotated[int, Field(ge=0, le=20)] = 5
    """most redirects for one page"""
    parallel: Annotated[int, Field(ge=1, le=64)] = 8
    """pages that are fetched at the same time"""
    user_agent: str = "radarstream (page reader)"
    """User-Agent header of the reader"""
