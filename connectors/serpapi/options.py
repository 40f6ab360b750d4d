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


class SerpApiOptions(Section, use_attribute_docstrings=True):
    """One SerpApi account. `api_key_variable` names the environment variable with its key."""

    api_key_variable: str = "SERPAPI_KEY"
    """environment variable with the key"""
    base_url: Annotated[str, AfterValidator(_checked)] = "https://serpapi.com"
    """another address: tests, a proxy"""
    timeout_s: Annotated[float, Field(gt=0.0)] = 20.0
    """without a byte from the service"""
    deadline_s: Annotated[float, Field(gt=0.0)] = 120.0
    """of a whole search: its pages, tries and pauses"""
    answer_bytes: Annotated[int, Field(ge=2**10)] = 8 * 2**20
    """largest page of results"""
    attempts: Annotated[int, Field(ge=1)] = 4
    """tries of one page"""
    first_pause_s: Annotated[float, Field(gt=0.0)] = 1.0
    """before the second try; doubles"""
    longest_pause_s: Annotated[float, Field(gt=0.0)] = 30.0
    """longest pause between tries"""
    requests_per_hour: Annotated[int, Field(ge=1)] = 200
    """of this process; the plan's hourly throughput"""
    burst: Annotated[int, Field(ge=1)] = 10
    """requests that need not be spaced"""
    monthly_credits: Annotated[int, Field(ge=0)] = 5_000
    """credits that all collectors may spend in a calendar month"""
    no_cache: bool = False
    """refuse the service's own one-hour cache, which costs nothing"""
