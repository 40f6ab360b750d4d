"""Finds the owner of an address, the names above its host, and the sources that a text names."""

import re
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from itertools import chain
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

KEY_CHARACTERS: Final = 300
UNKNOWN_OWNER: Final = "?"  # the owner where an address does not tell whose page it is

# Nearly all addresses; their hosts need no normalisation.
_PLAIN: Final = re.compile(r"https?://([a-z0-9-]+(?:\.[a-z0-9-]+)*)(?=[/\\?#]|\Z)")
_DOT: Final = re.compile("[.\u3002\uff0e\uff61]")  # dots of IDNA
_NO_HOST: Final = re.compile(r"[/\\?#@]")  # in a host only by an escape
_LAST_OF_IPV4: Final = re.compile(r"\d+|0x[\da-f]*", re.ASCII)
_HOST_CHARACTERS: Final = 253  # longest name in the Domain Name System
_MOST_LABELS: Final = 8  # most labels of a site: the longest public suffix has seven

# Open suffixes: anybody can register a name, and one owner often has the name under several of
# them. Under other suffixes, such as `gov.uk` and `oh.us`, one name has many owners.
_OPEN: Final = re.compile(
    r"(?:(?:asso|biz|blog|com?|firm|gen|id|idv|ind|info|ltd|me|my|ne|net|nom|or|org|plc|tm|tv|web)"
    r"\.)?[a-z0-9-]+"
)
_CLOSED: Final = frozenset({"gov", "edu", "mil", "int", "arpa"})
# Addresses of copies that have the address of the original, as "host/path?query".
_COPY: Final = re.compile(
    r"""(?: web\.archive\.org/web/(?:[\d*]+\w*\*?/)?
          | archive\.(?:fo|is|li|md|ph|today|vn)/(?:[\d.-]+|newest|oldest)/
          | (?:[a-z0-9-]+\.)?cdn\.ampproject\.org/[a-z]+/(?:s/)?
          | (?:www\.)?(?:google\.[a-z.]+|bing\.com)/amp/(?:s/)?
          | webcache\.googleusercontent\.com/search\?q=cache:(?:[\w-]+:)?
          ) (?:https?:/+)? (?P<original>.+)""",
    re.VERBOSE,
)
_HOLD_IPV4: Final = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"))  # translated, compatible
_MOST_COPIES: Final = 4  # deepest chain of copies of copies
# Owners or hosts of archives, caches, aggregators and short links: they publish texts of others.
_COPYING: Final = re.compile(
    r"12ft|ampproject|aol|archive|archiveit|arquivo|dailyhunt|flipboard|ghostarchive|headtopics|msn"
    r"|newsbreak|newsnow|nip|perma|pressreader|smartnews|sslip|tinyurl|webcitation|yahoo"
    r"|apple\.news|ground\.news|news\.google\.com|webcache\.googleusercontent\.com|bit\.ly|t\.co"
    r"|megalodon\.jp|outline\.com|r\.jina\.ai|scribe\.rip"
)
_MIRRORS: Final = {"dbpedia": "wikipedia", "kiddle": "wikipedia", "wikiwand": "wikipedia"}

READ_CHARACTERS: Final = 4_000  # of a text that are searched, because it may be hostile
_NAME: Final = r"[^\W\d_a-z][\w&-]*(?: (?:of (?:the )?|and |for |& )?[^\W\d_a-z][\w&-]*){0,5}"
_LED: Final = re.compile(
    r"(?i:\b(?:according to|citing|reported by|sources?\s?:"
    r"|(?:first|originally) (?:appeared|published|reported) (?:by|in|on)))\s+(?i:the\s+)?"
    rf"(?:(?P<host>(?:[a-zA-Z0-9-]+\.)+[a-z]{{2,}})|(?P<name>{_NAME}))"
)
_DATELINE: Final = re.compile(rf"\((?P<name>{_NAME})\)\s*[-\u2013\u2014]")
# Suffixes that an owner keeps, and that a text may leave out.
_SUFFIXES: Final = ("", ".gov", ".int", ".edu")


def host_of(url: str) -> str:
    """Return the host of an address, normalised; "" without one.

    >>> host_of("https://Bücher.Example./a") == host_of("http://xn--bcher-kva.example:8080")
    True
    """
    if plain := _PLAIN.match(url):
        return plain[1]
    try:
        named = unquote(urlsplit(url.replace("\\", "/")).hostname or "").lower()
    except ValueError:
        return ""
    if _NO_HOST.search(named):
        return ""
    host = ".".join(filter(None, _DOT.split(named)))
    try:
        return host.encode("idna").decode("ascii").lower().strip(".")  # "\u2026" is three dots
    except UnicodeError:  # no resolver accepts it
        return host


def site_of(url: str) -> str:
    """Return the registered name of a site, by the Public Suffix List; "" without an address.

    It has one label below the public suffix; platforms such as `github.io` count as suffixes. An IP
    address, and a host that is a public suffix, is its own site.

    >>> site_of("https://news.example.co.uk/a"), site_of("https://ann.github.io/")
    ('example.co.uk', 'ann.github.io')
    """
    return _registered(host_of(url), registries_only=False)


def owner_of(url: str) -> str:
    """Return the owner of a page, for counting independent sites; "" without an address.

    The owner is the registered name, without an open suffix. All names on a platform have one
    owner, and so has a network of 2^64 IPv6 addresses. A copy in an archive or cache has the owner
    of its original. `UNKNOWN_OWNER` if the address has no readable host, or is that of an archive
    or aggregator without the address of the original.

    >>> owner_of("https://news.example.co.uk/a"), owner_of("https://ann.github.io/")
    ('example', 'github')
    >>> owner_of("https://web.archive.org/web/2020/http://example.com/"), owner_of("https://msn.com")
    ('example', '?')
    >>> owner_of("http://[::ffff:192.0.2.7]/"), owner_of("http://0xc0000207/"), owner_of("a.org/b")
    ('192.0.2.7', '?', '?')
    """
    if not url.strip():
        return ""
    for _ in range(_MOST_COPIES):
        host = host_of(url)
        if _is_ip(host):
            return _network(host)
        if host.endswith(".translate.goog"):
            host = re.sub("--?", lambda dashes: ".-"[len(dashes[0]) - 1], host.partition(".")[0])
        owner = _named(host)
        copying = _COPYING.fullmatch(owner) or _COPYING.fullmatch(host)
        if not (copying or owner in ("google", "bing")):
            return owner
        parts = urlsplit(url)
        address = unquote(f"{host}{parts.path}{'?' * bool(parts.query)}{parts.query}")
        if found := _COPY.fullmatch(address):
            url = f"https://{found['original']}"
        elif copying:
            break
        else:
            return owner
    return UNKNOWN_OWNER


def owner_named(name: str) -> str:
    """Return the owner with this name, as a text or a registry spells it.

    >>> owner_named("the Example News"), owner_named("example-news"), owner_named("News")
    ('example', 'example', 'news')
    """
    letters = "".join(filter(str.isalnum, name.casefold()))
    return letters.removeprefix("the").removesuffix("news") or letters


def _named(host: str) -> str:
    """Return the owner of a host that is not an IP address."""
    name, _, suffix = _registered(host, registries_only=True).partition(".")
    if not re.fullmatch("[a-z0-9.-]*", suffix):  # no registry has it: "example.com,"
        return UNKNOWN_OWNER
    if not host or suffix in _CLOSED or name == "www" or not _OPEN.fullmatch(suffix or "com"):
        return ".".join(filter(None, (name, suffix))) or UNKNOWN_OWNER
    owner = owner_named(name)
    return _MIRRORS.get(owner, owner) or UNKNOWN_OWNER


def _network(host: str) -> str:
    """Return an IPv4 address, or the network of 2^64 IPv6 addresses, the least a customer gets."""
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:  # a spelling that some programs accept
        return UNKNOWN_OWNER
    if not isinstance(address, IPv6Address):
        return str(address)
    older = address.ipv4_mapped or address.sixtofour
    if not older and any(address in network for network in _HOLD_IPV4):
        older = IPv4Address(int(address) & 0xFFFFFFFF)
    return str(older or IPv6Network((address, 64), strict=False))


def is_registry_suffix(host: str) -> bool:
    """Whether a host is a suffix of a registry, not of a platform.

    >>> is_registry_suffix("co.uk"), is_registry_suffix("github.io"), is_registry_suffix("intranet")
    (True, False, False)
    """
    return _suffixes(registries_only=True).is_public(host, accept_unknown=False)


def source_of(url: str) -> str:
    """Return the key under which the site of a page is stored; "" without an address."""
    return _storable(site_of(url))


def names_of(url: str) -> tuple[str, ...]:
    """Return the names under which a person may have blocked a page's source, the longest first.

    They go from the host up to the registered name, so that blocking a platform blocks its sites.

    >>> names_of("https://blog.ann.github.io/")
    ('blog.ann.github.io', 'ann.github.io', 'github.io')
    """
    host = host_of(url)
    if not host:
        return ()
    labels = host.split(".")
    outermost = len(labels) - 1 - _registered(host, registries_only=True).count(".")
    innermost = min(outermost, max(0, len(labels) - _MOST_LABELS))
    return tuple(_storable(".".join(labels[start:])) for start in range(innermost, outermost + 1))


@cache
def _suffixes(*, registries_only: bool) -> "PublicSuffixList":
    """Read the list that comes with the library (a tenth of a second)."""
    from publicsuffixlist import PublicSuffixList

    return PublicSuffixList(only_icann=registries_only)


def _registered(host: str, *, registries_only: bool) -> str:
    """Return the name registered at a registry or platform, else the host."""
    if len(host) > _HOST_CHARACTERS:  # no resolver accepts it; do not fill the cache with it
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
    """Make a key fit for databases and terminals; addresses are untrusted."""
    if not key.isprintable() or " " in key:
        key = "".join(c for c in key if c.isprintable() and c != " ")
    return key[:KEY_CHARACTERS]


def cited_in(text: str) -> frozenset[str]:
    """Return the owners (`owner_of`) that an English text names as its sources.

    It names them by a phrase such as "according to", or as an agency: "ROME (Agency) -".

    >>> sorted(cited_in("Rain, according to Example News. Source: www.other.co.uk"))
    ['example', 'example.edu', 'example.gov', 'example.int', 'other']
    """
    read = " ".join(text[:READ_CHARACTERS].split())
    cited: set[str] = set()
    for found in chain(_LED.finditer(read), _DATELINE.finditer(read)):
        if name := found["name"]:
            owners = map(owner_named, _spellings(name))
            cited.update(owner + suffix for owner in owners for suffix in _SUFFIXES)
        else:
            cited.add(owner_of(f"https://{found['host']}/"))
    return frozenset(cited - {UNKNOWN_OWNER})


def _spellings(name: str) -> set[str]:
    """Return a name and its short forms: "New York Times" is also "NYT" and "NYTimes"."""
    words = [word for word in re.split(r"[\s&-]+", name) if word[:1].isupper()]
    initials = "".join(word[0] for word in words)
    short = {initials, initials[:-1] + words[-1]} if len(words) > 2 else set()
    return {name} | short
