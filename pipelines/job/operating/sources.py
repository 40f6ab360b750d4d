"""A person's verdict about a source: which one is meant, what is known of it, what is written."""

from collections.abc import Callable, Sequence
from ipaddress import ip_address
from typing import Any, Final

import numpy as np
from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.sources import listing
from radarstream.connectors.state_table.sources.ledger import hold, judge
from radarstream.defenses.kernels.honesty import credible_interval, distrust
from radarstream.pipelines.settings import SourceSettings
from radarstream.schemas import sites
from radarstream.schemas.codec import clean
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.shown import one_line
from radarstream.schemas.snapshot import Document
from radarstream.schemas.sources import NEUTRAL, SourceVerdict
from radarstream.schemas.times import stored_time

NOTE_CHARACTERS: Final = 300
IPV6: Final = 6
SHOWN_CHARACTERS: Final = 200


def known_name(connection: Connection, domain: str, settings: SourceSettings) -> str:
    """The ledger's name for a domain or an address. Raises ConfigurationError.

    Of a site's it is the host as typed where the ledger has that: other settings may have made it
    the key.
    """
    typed = domain.strip()
    url = typed if "://" in typed else f"https://{_bracketed(typed)}"
    host = sites.host_of(url)
    name = sites.key_of(Document(1, "", url=url), settings.granularity)
    # A key leaves blanks out: typed, they are a mistake that would become another name.
    if not name or any(c.isspace() or not c.isprintable() for c in host):
        raise ConfigurationError(f"{_shown(domain)!r} names no domain")
    known = settings.granularity == "site" and listing.summary_of(connection, host) is not None
    return host if known else name


def insist_on_owner(connection: Connection, domain: str) -> None:
    """Raise ConfigurationError for a registry's suffix that no page has as its source."""
    host = domain.partition("/")[0]
    if sites.is_registry_suffix(host) and listing.summary_of(connection, domain) is None:
        raise ConfigurationError(
            f"{_shown(domain)} is no source: others register their names under it; "
            f"name one of them, as in example.{_shown(host)}"
        )


def write_verdict(
    engine: Engine,
    domain: str,
    verdict: SourceVerdict | None,
    note: str | None,
    beside: Sequence[Callable[[Connection], None]] = (),
) -> bool:
    """Write a verdict, None to take one back; return whether the ledger had the domain.

    `beside` run first in the same transaction, with the row held; what they raise undoes all.
    """

    def work(connection: Connection) -> bool:
        known = listing.summary_of(connection, domain) is not None
        if known or verdict is not None:
            hold(connection, [domain])
            for write in beside:
                write(connection)
            judge(connection, domain, verdict, note and clean(note)[:NOTE_CHARACTERS])
        return known

    return in_transaction(engine, work)


def consequence(
    domain: str, verdict: SourceVerdict | None, settings: SourceSettings, *, known: bool
) -> str:
    """What holds once a verdict is written, in one line."""
    result = f"{domain} is {verdict}" if verdict else f"{domain} has no verdict"
    below = ", and every site below it" if verdict and sites.is_platform(domain) else ""
    unheard = "" if known else "; nothing was known of it"
    unused = verdict is SourceVerdict.BLOCKED and not settings.block
    remedy = "; without effect while sources.block is false" if unused else ""
    return f"{result}{below}{unheard}{remedy}"


def described(
    summary: listing.SourceSummary, as_of_ms: int, settings: SourceSettings
) -> dict[str, Any]:
    """A domain as JSON values, as of the latest event that the ledger knows."""
    standing = summary.standing
    counts = standing.counts.at(as_of_ms, settings.half_life_days)
    low, high = credible_interval(*counts.parameters)
    used = standing.honesty(as_of_ms, settings.half_life_days)
    return {
        "domain": standing.domain,
        "verdict": standing.verdict,
        "note": standing.note,
        "reliability": round(counts.honesty, 6),
        "low": round(low, 6),
        "high": round(high, 6),
        "distrust": round(float(distrust(np.array(used), NEUTRAL)), 6),
        "honest": round(counts.honest, 6),
        "dishonest": round(counts.dishonest, 6),
        "events": summary.events,
        "first": time_of(summary.first_ms),
        "last": time_of(summary.last_ms),
        "claims": list(summary.claims),
    }


def time_of(milliseconds: int | None) -> str | None:
    """A stored time as text, None for none."""
    return stored_time(milliseconds) if milliseconds else None


def _bracketed(host: str) -> str:
    """An IPv6 address as addresses of pages have it; anything else as it is."""
    try:
        return f"[{host}]" if ip_address(host).version == IPV6 else host
    except ValueError:
        return host


def _shown(text: str) -> str:
    return one_line(text, SHOWN_CHARACTERS)
