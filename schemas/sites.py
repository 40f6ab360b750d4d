"""Whose page an address is: the site that owns it, its host, or a section of it."""

import re
from typing import Final, Literal
from urllib.parse import unquote, urlsplit

from schemas.snapshot import Document

Granularity = Literal["site", "host", "section"]
KEY_CHARACTERS: Final = 300

# Second labels under which countries hand out names: example.co.uk is one site, not co.uk.
_SHARED = re.compile(
    r"ac|co|com|edu|gob|gouv|gov|gv|lg|ltd|me|mil|ne|net|nhs|nom|or|org|plc|sch", re.ASCII
)
_COUNTRY = re.compile(r"[a-z]{2}")


def host_of(url: str) -> str:
    """The host of an address in its one spelling; empty if there is none.

    >>> host_of("https://Bücher.Example./a") == host_of("http://xn--bcher-kva.example:8080")
    True
    """
    try:
        host = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return ""
    try:
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError:  # no name that a resolver would take: it stands for itself
        return host


def site_of(url: str) -> str:
    """The name a site's owner registered, guessed from an address; empty if there is none.

    The last two labels of the host, or three below a country's shared label. It knows no list of
    public suffixes, so pages of different people on one host of pages count as one site, which is
    what an attacker with many free accounts should get.

    >>> site_of("https://news.example.co.uk/a"), site_of("https://me.pages.example/")
    ('example.co.uk', 'pages.example')
    """
    host = host_of(url)
    labels = host.split(".")
    if labels[-1].isdigit() or ":" in host:
        return host
    below_suffix = len(labels) > 2 and is_shared_suffix(".".join(labels[-2:]))
    return ".".join(labels[-3:] if below_suffix else labels[-2:])


def is_shared_suffix(host: str) -> bool:
    """Whether a host is one under which a country's names are registered, and nobody's own.

    >>> is_shared_suffix("co.uk"), is_shared_suffix("example.co.uk"), is_shared_suffix("example.uk")
    (True, False, False)
    """
    shared, _, country = host.partition(".")
    return bool(_SHARED.fullmatch(shared) and _COUNTRY.fullmatch(country))


def key_of(document: Document, granularity: Granularity = "site") -> str:
    """Whom the ledger of sources holds responsible for a document; empty without an address.

    A section is the host and the first part of the path: the author on a host of many authors.

    >>> key_of(Document(1, "", url="https://blogs.example/@ann/p/1"), "section")
    'blogs.example/@ann'
    """
    if granularity == "site":
        key = site_of(document.url)
    else:
        key = host_of(document.url)
        if granularity == "section" and key:
            first = unquote(urlsplit(document.url).path).strip("/").partition("/")[0]
            key = f"{key}/{first}" if first else key
    # What no database or terminal takes is left out: addresses are as untrusted as texts.
    return "".join(c for c in key if c.isprintable() and c != " ")[:KEY_CHARACTERS]
