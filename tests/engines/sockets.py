"""The addresses on which a process listens, as the kernel tells them."""

from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

LISTENING = "0A"


def listening(pid: int) -> set[IPv4Address | IPv6Address]:
    """The local addresses of a process's listening TCP sockets."""
    own = {str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir()}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENING and f"socket:[{fields[9]}]" in own:
                found.add(address(fields[1].partition(":")[0]))
    return found


def address(words: str) -> IPv4Address | IPv6Address:
    """An address of /proc/net/tcp: words of four bytes, each of them back to front.

    >>> address("0100007F"), address("0000000000000000FFFF00000100007F")
    (IPv4Address('127.0.0.1'), IPv4Address('127.0.0.1'))
    """
    data = bytes.fromhex(words)
    found = ip_address(b"".join(data[n : n + 4][::-1] for n in range(0, len(data), 4)))
    return getattr(found, "ipv4_mapped", None) or found
