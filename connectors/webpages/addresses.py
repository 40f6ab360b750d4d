"""Which addresses a page may be fetched from: public ones, and nothing of our own network."""

from collections.abc import Awaitable, Callable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final

Address = IPv4Address | IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]  # host, port -> addresses as text
Allow = Callable[[Address, int], bool]

PORTS: Final = frozenset({80, 443})
# IPv6 ranges that carry an IPv4 address in their last 32 bits: translators, and what is obsolete.
EMBEDDING: Final = tuple(
    IPv6Network(network)
    for network in ("::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96")
)
# Global by the register or by Python before 3.11.10, but relays, translators of a site of its own,
# or names for an inner host all the same; in the IPv4 ranges clouds answer their machines.
REFUSED: Final[tuple[IPv4Network | IPv6Network, ...]] = (
    *map(IPv4Network, ("192.0.0.0/24", "168.63.129.16/32")),
    *map(IPv6Network, ("2002::/16", "2001::/23", "64:ff9b:1::/48", "3fff::/20", "fec0::/10")),
)


def is_public(address: Address, port: int) -> bool:
    """Whether an address is out on the internet and the port one of the web's.

    >>> is_public(ip_address("93.184.215.14"), 443), is_public(ip_address("169.254.169.254"), 80)
    (True, False)
    """
    return port in PORTS and all(_public(each) for each in meanings(address))


def meanings(address: Address) -> list[Address]:
    """The address and the IPv4 address inside it, if it has one."""
    if isinstance(address, IPv6Address) and any(address in network for network in EMBEDDING):
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return [address]


def parsed(text: str) -> Address:
    """Return the address without its IPv6 zone. ValueError if it is none."""
    address = ip_address(text)
    if isinstance(address, IPv6Address) and address.scope_id:
        raise ValueError("an address with a zone is local")
    return address


def _public(address: Address) -> bool:
    if any(address in network for network in REFUSED):
        return False
    return address.is_global and not (
        address.is_multicast
        or address.is_reserved
        or address.is_loopback
        or address.is_link_local
        or address.is_private
        or address.is_unspecified
    )
