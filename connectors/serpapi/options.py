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

    api_key_variable: str = "SERPAPI_KEY"
    """environment variable that holds the API key"""
    base_url: Annotated[str, AfterValidator(_checked)] = "https://serpapi.com"
    """address of the service; change it for a proxy"""
    timeout_s: Annotated[float, Field(gt=0.0)] = 20.0
    """seconds without a byte from the service"""
    deadline_s: Annotated[float, Field(gt=0.0)] = 120.0
    """seconds for a whole search with its pages, attempts and pauses"""
    answer_bytes: Annotated[int, Field(ge=2**10)] = 8 * 2**20
    """largest page of results, in bytes"""
    attempts: Annotated[int, Field(ge=1)] = 4
    """most attempts of one page"""
    first_pause_s: Annotated[float, Field(gt=0.0)] = 1.0
    """seconds before the second attempt; doubles with each further one"""
    longest_pause_s: Annotated[float, Field(gt=0.0)] = 30.0
    """longest pause between attempts, in seconds"""
    requests_per_hour: Annotated[int, Field(ge=1)] = 200
    """most requests per hour of this process; set it to the throughput of your plan"""
    burst: Annotated[int, Field(ge=1)] = 10
    """requests that may follow one another without a pause"""
    monthly_credits: Annotated[int, Field(ge=0)] = 5_000
    """credits that all collectors together may spend in a calendar month"""
