"""Fetches pages over HTTP, from public addresses only.

It resolves the host, checks all its addresses, and connects to a checked address without a second
look-up, which might give another. Each redirect goes through the same check.
"""

import asyncio
import socket
import zlib
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.cookiejar import CookieJar, DefaultCookiePolicy
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

import httpx

from radarstream.connectors.webpages.media import DECLARED
from radarstream.connectors.webpages.options import PageError, PageOptions, Raw

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]  # host, port -> addresses as text
Allow = Callable[[Address, int], bool]

PORTS: Final = frozenset({80, 443})
# IPv6 ranges with an IPv4 address in the last 32 bits: translators, and obsolete ones.
EMBEDDING: Final = tuple(
    IPv6Network(network)
    for network in ("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96")
)
# Relays, local translators and private ranges that are global by the register or by Python before
# 3.11.10; in the IPv4 ranges, clouds answer requests of their own machines.
REFUSED: Final[tuple[IPv4Network | IPv6Network, ...]] = (
    *map(IPv4Network, ("192.0.0.0/24", "168.63.129.16/32")),
    *map(IPv6Network, ("2002::/16", "2001::/23", "64:ff9b:1::/48", "3fff::/20", "fec0::/10")),
)
WEB: Final = frozenset({"http", "https"})
LAST_PORT: Final = 65_535
READ: Final = frozenset({*DECLARED, "text/plain"})
ENCODINGS: Final = frozenset({"", "identity", "gzip"})
RESOLVERS: Final = ThreadPoolExecutor(32, "resolver")  # an event loop waits for its own at its end
HEADERS: Final = {
    "accept": "text/html, application/pdf;q=0.9, */*;q=0.5",
    "accept-encoding": "gzip",
}
REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


def is_public(address: Address, port: int) -> bool:
    """Whether an address is on the public internet and the port is one of the web.

    >>> is_public(ip_address("93.184.215.14"), 443), is_public(ip_address("169.254.169.254"), 80)
    (True, False)
    """
    return port in PORTS and all(_public(each) for each in meanings(address))


def meanings(address: Address) -> list[Address]:
    """Return the IPv4 address inside an address if it has one, else the address."""
    if isinstance(address, IPv6Address) and any(address in network for network in EMBEDDING):
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address]


def parsed(text: str) -> Address:
    """Parse an address. Raises ValueError, also for an IPv6 address with a zone."""
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.scope_id:
        raise ValueError("an address with a zone is local")
    return address


def _public(address: Address) -> bool:
    if any(address in network for network in REFUSED):
        return False
    return address.is_global and not (address.is_multicast or address.is_reserved)


async def resolve_host(host: str, port: int) -> Sequence[str]:
    """Resolve a host by the system's resolver."""
    loop = asyncio.get_running_loop()
    ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    found = await loop.run_in_executor(RESOLVERS, ask)
    return [str(sockaddr[0]) for *_, sockaddr in found]


class CheckedTransport(httpx.AsyncBaseTransport):
    """Sends requests to checked addresses, with the host's name in `Host` and in TLS."""

    def __init__(self, resolve: Resolve = resolve_host, allow: Allow = is_public) -> None:
        self._resolve = resolve
        self._allow = allow
        # No connection is reused: another host may have the address but not the certificate.
        limits = httpx.Limits(max_keepalive_connections=0)
        self._inner = httpx.AsyncHTTPTransport(trust_env=False, limits=limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Check, then send. Raises PageError("address") if an address of the host is refused."""
        url = request.url
        port = url.port or (443 if url.scheme == "https" else 80)
        address = await self._checked(url.host, port)
        sent = httpx.Request(
            request.method,
            url.copy_with(host=str(address)),
            headers=request.headers,
            extensions={**request.extensions, "sni_hostname": url.raw_host.decode("ascii")},
        )
        return await self._inner.handle_async_request(sent)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()

    async def _checked(self, host: str, port: int) -> Address:
        try:
            literal = parsed(host)
        except ValueError:
            literal = None
        try:
            names = [str(literal)] if literal else await self._resolve(host, port)
            found = [parsed(name) for name in names]
        except (OSError, ValueError):  # UnicodeError, for an invalid name, is a ValueError
            raise PageError("name") from None
        if not found or not all(self._allow(address, port) for address in found):
            raise PageError("address")
        return found[0]


def page_client(options: PageOptions, transport: httpx.AsyncBaseTransport) -> httpx.AsyncClient:
    """Return a client for many pages, without proxies, cookies, credentials and redirects."""
    return httpx.AsyncClient(
        transport=transport,
        trust_env=False,
        follow_redirects=False,  # following would read bodies without a limit
        timeout=options.seconds,
        headers={**HEADERS, "user-agent": options.user_agent},
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
    )


async def fetch(url: str, options: PageOptions, client: httpx.AsyncClient) -> Raw:
    """Return a page's bytes with its content type.

    Raises PageError: scheme, name, address, redirects, status, content_type, size, time, network.
    """
    try:
        async with asyncio.timeout(options.seconds):
            return await _follow(client, url, options)
    except (TimeoutError, httpx.TimeoutException):
        raise PageError("time") from None
    except (httpx.UnsupportedProtocol, httpx.InvalidURL):
        raise PageError("scheme") from None
    except (httpx.HTTPError, OSError, zlib.error, ValueError):
        raise PageError("network") from None


async def _follow(client: httpx.AsyncClient, url: str, options: PageOptions) -> Raw:
    target = httpx.URL(url)
    for _ in range(options.redirects + 1):
        if target.scheme not in WEB or not target.host or (target.port or 0) > LAST_PORT:
            raise PageError("scheme")
        bare = target.copy_with(userinfo=b"", fragment=None)
        async with client.stream("GET", bare) as response:
            if response.status_code not in REDIRECTS:
                return await _body(response, options.page_bytes)
            location = response.headers.get("location", "")
        target = target.join(location)
    raise PageError("redirects")


async def _body(response: httpx.Response, max_bytes: int) -> Raw:
    if response.status_code != 200:
        raise PageError("status")
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if kind not in READ or encoding not in ENCODINGS:
        raise PageError("content_type")
    inflate = _inflater(encoding, max_bytes)
    received, page = 0, bytearray()
    async for chunk in response.aiter_raw():
        received += len(chunk)
        page += inflate(chunk)
        if max(received, len(page)) > max_bytes:
            raise PageError("size")
    return Raw(bytes(page), kind, response.charset_encoding or "")


def _inflater(encoding: str, max_bytes: int) -> Callable[[bytes], bytes]:
    """Return a function that decompresses at most `max_bytes` + 1 bytes."""
    if encoding != "gzip":
        return bytes
    engine = zlib.decompressobj(16 + zlib.MAX_WBITS)
    return partial(engine.decompress, max_length=max_bytes + 1)
