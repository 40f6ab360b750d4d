"""How much of its site's one voice a page has."""

from collections import Counter
from collections.abc import Sequence

from radarstream.schemas.sites import site_of


def site_voices(urls: Sequence[str]) -> list[float]:
    """One voice per site, shared by its pages alike; a page without an address is its own site.

    >>> site_voices(["https://a.example/1", "https://b.example", "https://a.example/2"])
    [0.5, 1.0, 0.5]
    """
    sites = [site_of(url) for url in urls]
    pages = Counter(sites)
    return [1.0 / pages[site] if site else 1.0 for site in sites]
