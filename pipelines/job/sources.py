"""Verdicts on sources: parses the name of a source, and describes sources and verdicts."""

from ipaddress import ip_address
from typing import Any, Final

from radarstream.connectors.state_table.sources import Source, SourceVerdict
from radarstream.schemas import sites
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.shown import one_line
from radarstream.schemas.times import stored_time

CLAIMS: Final = 5
IPV6: Final = 6
SHOWN_CHARACTERS: Final = 200


def source_named(text: str) -> str:
    """Parse a source: a host's name as typed, or the site of a page's address.

    Raises ConfigurationError for text without a host, and for a suffix under which a registry sells
    names.

    >>> source_named("https://news.example.co.uk/1"), source_named("news.example.co.uk")
    ('example.co.uk', 'news.example.co.uk')
    """
    typed = text.strip()
    address = typed if "://" in typed else f"https://{_bracketed(typed)}"
    host = sites.host_of(address)
    shown = one_line(text, SHOWN_CHARACTERS)
    if not host or any(c.isspace() or not c.isprintable() for c in host):
        raise ConfigurationError(f"{shown!r} names no domain")
    if sites.is_registry_suffix(host):
        raise ConfigurationError(
            f"{shown!r} is no source: others register their names under it; "
            f"name one of them, as in example.{shown}"
        )
    if typed == address:
        return sites.source_of(address)
    names = sites.names_of(address)
    return names[1] if host.startswith("www.") and names[1:] else names[0]


def consequence(domain: str, verdict: SourceVerdict | None) -> str:
    """Describe the consequence of a verdict in one line."""
    if verdict is None:
        return f"{domain} has no verdict"
    return f"{domain} is {verdict}, and every name below it without a verdict of its own"


def described(source: Source) -> dict[str, Any]:
    """A source as JSON values; its wrong answers newest first."""
    times = [stored_time(blame.observed_ms) for blame in source.blame]
    claims = dict.fromkeys(blame.answer for blame in source.blame)
    return {
        "domain": source.domain,
        "verdict": source.verdict,
        "note": source.note,
        "wrong_answers": len(source.blame),
        "first": times[-1] if times else None,
        "last": times[0] if times else None,
        "claims": list(claims)[:CLAIMS],
    }


def _bracketed(host: str) -> str:
    """Put an IPv6 address into brackets, as in URLs; leave other hosts unchanged."""
    try:
        return f"[{host}]" if ip_address(host).version == IPV6 else host
    except ValueError:
        return host
