"""What fetching a page may cost."""

from typing import Annotated

from pydantic import Field

from schemas.section import Section


class PageOptions(Section):
    """Caps on one page, and how many are fetched at once."""

    seconds: Annotated[float, Field(gt=0.0, description="of a page, redirects included")] = 15.0
    page_bytes: Annotated[
        int, Field(ge=2**10, description="of a page, as sent and as decompressed")
    ] = 2**20
    text_bytes: Annotated[int, Field(ge=2**8, description="of its text that is kept")] = 64 * 2**10
    redirects: Annotated[int, Field(ge=0, le=20, description="followed for one page")] = 5
    parallel: Annotated[int, Field(ge=1, le=64, description="pages fetched at once")] = 8
    user_agent: Annotated[str, Field(description="how the reader names itself")] = (
        "radarstream (page reader)"
    )
