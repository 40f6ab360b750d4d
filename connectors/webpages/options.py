"""What reading a page may cost, and the error of one that was not read."""

from typing import Annotated

from pydantic import Field

from radarstream.schemas.section import Section


class PageError(Exception):
    """A page was not read; the text is a fixed word that labels metrics."""


class PageOptions(Section, use_attribute_docstrings=True):
    """Caps on one page, and how many are fetched at once."""

    seconds: Annotated[float, Field(gt=0.0)] = 15.0
    """of a page, redirects included"""
    page_bytes: Annotated[int, Field(ge=2**10)] = 2**20
    """of a page, as sent and as decompressed"""
    text_bytes: Annotated[int, Field(ge=2**8)] = 64 * 2**10
    """of its text that is kept"""
    parse_seconds: Annotated[int, Field(ge=1)] = 5
    """of processor time to find the text of a page; by the clock 4 times"""
    parse_bytes: Annotated[int, Field(ge=32 * 2**20)] = 128 * 2**20
    """of memory to find the text of a page"""
    elements: Annotated[int, Field(ge=100)] = 50_000
    """of a page; one with more keeps its snippet"""
    attributes: Annotated[int, Field(ge=10)] = 1_000
    """of an element; a page with more keeps its snippet"""
    redirects: Annotated[int, Field(ge=0, le=20)] = 5
    """followed for one page"""
    parallel: Annotated[int, Field(ge=1, le=64)] = 8
    """pages fetched at once"""
    user_agent: str = "radarstream (page reader)"
    """how the reader names itself"""
