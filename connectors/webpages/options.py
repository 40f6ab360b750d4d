"""What fetching a page may cost."""

from typing import Annotated

from pydantic import Field

from radarstream.schemas.section import Section


class PageOptions(Section):
    """Caps on one page, and how many are fetched at once."""

    seconds: Annotated[float, Field(gt=0.0, description="of a page, redirects included")] = 15.0
    page_bytes: Annotated[
        int, Field(ge=2**10, description="of a page, as sent and as decompressed")
    ] = 2**20
    text_bytes: Annotated[int, Field(ge=2**8, description="of its text that is kept")] = 64 * 2**10
    parse_seconds: Annotated[
        int,
        Field(
            ge=1, description="of processor time to find the text of a page; by the clock 4 times"
        ),
    ] = 5
    parse_bytes: Annotated[
        int, Field(ge=32 * 2**20, description="of memory to find the text of a page")
    ] = 128 * 2**20
    elements: Annotated[
        int, Field(ge=100, description="of a page; one with more keeps its snippet")
    ] = 50_000
    attributes: Annotated[
        int, Field(ge=10, description="of an element; a page with more keeps its snippet")
    ] = 1_000
    redirects: Annotated[int, Field(ge=0, le=20, description="followed for one page")] = 5
    parallel: Annotated[int, Field(ge=1, le=64, description="pages fetched at once")] = 8
    user_agent: Annotated[str, Field(description="how the reader names itself")] = (
        "radarstream (page reader)"
    )
