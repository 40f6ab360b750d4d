"""How the search service is reached, how patiently, and how much may be spent on it."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from radarstream.schemas.section import Section

RESULTS_PER_PAGE = 10  # what the service gives since the search engine dropped `num`
Engine = Literal["google", "google_light"]


def _checked(url: str) -> str:
    parts = urlsplit(url)
    local = parts.hostname in ("127.0.0.1", "::1", "localhost")
    if not parts.hostname or parts.scheme not in ("http", "https"):
        raise ValueError("must be http(s)://host")
    if parts.scheme == "http" and not local:
        raise ValueError("must be https: the API key travels in the address")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("must hold neither user, query nor fragment")
    return url.rstrip("/")


class SerpApiOptions(Section):
    """One SerpApi account. `api_key_variable` names the environment variable with its key."""

    api_key_variable: Annotated[str, Field(description="environment variable with the key")] = (
        "SERPAPI_KEY"
    )
    base_url: Annotated[
        str, AfterValidator(_checked), Field(description="another address: tests, a proxy")
    ] = "https://serpapi.com"
    timeout_s: Annotated[float, Field(gt=0.0, description="without a byte from the service")] = 20.0
    deadline_s: Annotated[
        float, Field(gt=0.0, description="of a whole search: its pages, tries and pauses")
    ] = 120.0
    answer_bytes: Annotated[int, Field(ge=2**10, description="largest page of results")] = 8 * 2**20
    attempts: Annotated[int, Field(ge=1, description="tries of one page")] = 4
    first_pause_s: Annotated[float, Field(gt=0.0, description="before the second try; doubles")] = (
        1.0
    )
    longest_pause_s: Annotated[float, Field(gt=0.0, description="longest pause between tries")] = (
        30.0
    )
    requests_per_hour: Annotated[
        int, Field(ge=1, description="of this process; the plan's hourly throughput")
    ] = 200
    burst: Annotated[int, Field(ge=1, description="requests that need not be spaced")] = 10
    monthly_credits: Annotated[
        int, Field(ge=0, description="credits that all collectors may spend in a calendar month")
    ] = 5_000
    no_cache: Annotated[
        bool, Field(description="refuse the service's own one-hour cache, which costs nothing")
    ] = False
