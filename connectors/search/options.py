"""Settings of the search service."""

from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from radarstream.schemas.section import Attempts


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if url and (not parts.hostname or parts.scheme not in ("http", "https")):
        raise ValueError("must be http(s)://host")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("must have neither user, query nor fragment")
    return url.rstrip("/")


class SearchOptions(Attempts):
    """The search service. Its key comes from the environment only."""

    name: str = "serpapi"
    """serpapi, searxng (self-hosted, no account), brave, tavily, or one of another package"""
    options: dict[str, Any] = {}
    """options of the service, by name"""
    api_key_variable: str = ""
    """environment variable that holds the API key; empty = SERPAPI_KEY, BRAVE_API_KEY or
    TAVILY_API_KEY, and no key for SearXNG"""
    base_url: Annotated[str, AfterValidator(_checked)] = ""
    """address of the service or of a proxy before it; empty = the service's own, for SearXNG
    http://127.0.0.1:8888"""
    timeout_s: Annotated[float, Field(gt=0.0)] = 20.0
    """seconds without a byte from the service"""
    deadline_s: Annotated[float, Field(gt=0.0)] = 120.0
    """seconds for a whole search with its pages, attempts and pauses"""
    answer_bytes: Annotated[int, Field(ge=2**10)] = 8 * 2**20
    """largest page of results, in bytes"""
    requests_per_hour: Annotated[int, Field(ge=1)] = 200
    """most requests per hour of this process; set it to the throughput of your plan"""
    burst: Annotated[int, Field(ge=1)] = 10
    """requests without a pause in between"""
    monthly_credits: Annotated[int, Field(ge=0)] = 5_000
    """most credits, one per request, that all collectors together spend in a calendar month"""
