"""Whose page an address is: the site that owns it, its host, or a section of it."""

import re
from functools import cache, lru_cache
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import unquote, urlsplit

from radarstream.schemas.snapshot import Document

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

Granularity = Literal["site", "host", "section"]
KEY_CHARACTERS: Final = 300
UNREADABLE: Final = "?"  # the one owner of all addresses in which no host can be read

# What nearly all addresses look like: nothing in them has to be made plain.
_PLAIN: Final = re.compile(r"https?://([a-z0-9-]+(?:\.[a-z0-9-]+)*)(?=[/\\?#]|\Z)")
_DOT: Final = re.compile("[.\u3002\uff0e\uff61]")  # what IDNA takes for a dot
_LAST_OF_IPV4: Final = re.compile(r"\d+|0x[\da-f]*", re.ASCII)
_HOST_CHARACTERS: Final = 253  # of a name in the Domain Name System
_MOST_LABELS: Final = 8  # of a site's name: the longest public suffix has seven


def host_of(url: str) -> str:
    """The host of an address in its one spelling; empty if there is none.

    >>> host_of("https://Bücher.Example./a") == host_of("http://xn--bcher-kva.example:8080")
    True
    """
    if plain := _PLAIN.match(url):
        return plain[1]
    try:
        host = ".".join(filter(None, _DOT.split(urlsplit(url.replace("\\", "/")).hostname or "")))
    except ValueError:
        return ""
    if host.isascii():  # IDNA would change nothing
        return host
    try:
        return host.encode("idna").decode("ascii").lower()
    except UnicodeError:  # no name that a resolver would take: it stands for itself
        return host


def site_of(url: str) -> str:
    """The name a site's owner registered, by the Public Suffix List; empty without an address.

    One label below the public suffix, those of platforms included that give out names of their own,
    such as `github.io`. An IP address, and a host that is a public suffix itself, is its own site.

    >>> site_of("https://news.example.co.uk/a"), site_of("https://ann.github.io/")
    ('example.co.uk', 'ann.github.io')
    """
    return _registered(host_of(url), registries_only=False)


def owner_of(url: str) -> str:
    """Whose voice a page is, where independent voices are counted; empty without an address.

    The name that a registry gave out: anybody can have many names on a platform, so all of them are
    one voice. All addresses without a readable host are one, too.

    >>> owner_of("https://news.example.co.uk/a"), owner_of("https://ann.github.io/")
    ('example.co.uk', 'github.io')
    >>> owner_of("http://[::ffff:192.0.2.7]/"), owner_of("http://0xc0000207/"), owner_of("a.org/b")
    ('192.0.2.7', '?', '?')
    """
    host = host_of(url)
    if not _is_ip(host):
        return _registered(host, registries_only=True) if host else UNREADABLE * bool(url.strip())
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:  # a spelling that some programs take for an address
        return UNREADABLE
    return str((isinstance(address, IPv6Address) and address.ipv4_mapped) or address)


def is_registry_suffix(host: str) -> bool:
    """Whether a registry gives out names below a host; platforms are no registries.

    >>> is_registry_suffix("co.uk"), is_registry_suffix("github.io"), is_registry_suffix("intranet")
    (True, False, False)
    """
    return _suffixes(registries_only=True).is_public(host, accept_unknown=False)


def is_platform(host: str) -> bool:
    """Whether somebody who is no registry gives out names below a host.

    >>> is_platform("github.io"), is_platform("co.uk"), is_platform("example.com")
    (True, False, False)
    """
    shared = _suffixes(registries_only=False).is_public(host, accept_unknown=False)
    return shared and not is_registry_suffix(host)


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
    return _storable(key)


def names_of(document: Document, granularity: Granularity = "site") -> tuple[str, ...]:
    """Names under which a person may have judged a document's source, the nearest first.

    For sites every name from the host up to the one that a registry gave out, so that a word about
    a platform holds for all its sites. The key that releases without the Public Suffix List gave to
    the document is among them.

    >>> names_of(Document(1, "", url="https://blog.ann.github.io/"))
    ('blog.ann.github.io', 'ann.github.io', 'github.io')
    """
    key = key_of(document, granularity)
    if granularity != "site" or not key:
        return (key,) if key else ()
    host = host_of(document.url)
    labels = host.split(".")
    outermost = len(labels) - 1 - _registered(host, registries_only=True).count(".")
    innermost = min(outermost, max(0, len(labels) - _MOST_LABELS))
    return tuple(_storable(".".join(labels[start:])) for start in range(innermost, outermost + 1))


@cache
def _suffixes(*, registries_only: bool) -> "PublicSuffixList":
    """The list that comes with the library, read at its first use (a tenth of a second)."""
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(only_icann=registries_only)


def _registered(host: str, *, registries_only: bool) -> str:
    """The name that a registry, or a platform, gave out; the host itself where there is none."""
    if len(host) > _HOST_CHARACTERS:  # no name that a resolver would take, and none to remember
        return _looked_up.__wrapped__(host, registries_only)
    return _looked_up(host, registries_only)


@lru_cache(maxsize=8192)
def _looked_up(host: str, registries_only: bool) -> str:
    if not host or _is_ip(host):
        return host
    return _suffixes(registries_only=registries_only).privatesuffix(host) or host


def _is_ip(host: str) -> bool:
    """Whether a host is an IP address, in any spelling."""
    return ":" in host or _LAST_OF_IPV4.fullmatch(host.rpartition(".")[2]) is not None


def _storable(key: str) -> str:
    """What databases and terminals take of a key: addresses are as untrusted as texts."""
    if not key.isprintable() or " " in key:
        key = "".join(c for c in key if c.isprintable() and c != " ")
    return key[:KEY_CHARACTERS]
