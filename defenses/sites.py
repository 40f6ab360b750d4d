"""Which site a page belongs to, and how much of its site's one voice a page has."""

import re
from collections import Counter
from collections.abc import Sequence
from urllib.parse import urlsplit

# Second labels under which countries hand out names: example.co.uk is one site, not co.uk.
_SHARED = re.compile(
    r"ac|co|com|edu|gob|gouv|gov|gv|lg|ltd|me|mil|ne|net|nhs|nom|or|org|plc|sch", re.ASCII
)
_COUNTRY = re.compile(r"[a-z]{2}")


def site_of(url: str) -> str:
    """The name a site's owner registered, guessed from an address; empty if there is none.

    The last two labels of the host, or three below a country's shared label. It knows no list of
    public suffixes, so pages of different people on one host of pages count as one site, which is
    what an attacker with many free accounts should get.

    >>> site_of("https://news.example.co.uk/a"), site_of("https://me.pages.example/")
    ('example.co.uk', 'pages.example')
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""
    labels = host.split(".")
    if labels[-1].isdigit() or ":" in host:
        return host
    shared = len(labels) > 2 and _SHARED.fullmatch(labels[-2]) and _COUNTRY.fullmatch(labels[-1])
    return ".".join(labels[-3:] if shared else labels[-2:])


def site_voices(urls: Sequence[str]) -> list[float]:
    """One voice per site, shared by its pages alike; a page without an address is its own site.

    >>> site_voices(["https://a.example/1", "https://b.example", "https://a.example/2"])
    [0.5, 1.0, 0.5]
    """
    sites = [site_of(url) for url in urls]
    pages = Counter(sites)
    return [1.0 / pages[site] if site else 1.0 for site in sites]
