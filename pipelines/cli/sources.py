"""`radarstream sources`: which domains are blamed, since when, for what; pardon or block them."""

from dataclasses import asdict
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.text import Text
from sqlalchemy import Connection, Engine
from typer import Argument, Option

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.sources import listing
from radarstream.connectors.state_table.sources.ledger import judge
from radarstream.defenses.kernels.honesty import credible_interval, distrust
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config
from radarstream.pipelines.cli.terminal import cell, print_json, print_table, printable, say
from radarstream.pipelines.settings import Settings, SourceSettings, load_settings
from radarstream.schemas import sites
from radarstream.schemas.codec import clean
from radarstream.schemas.errors import ConfigurationError, NotFoundError
from radarstream.schemas.snapshot import Document
from radarstream.schemas.sources import NAME_CHARACTERS, NEUTRAL, SourceVerdict
from radarstream.schemas.times import stored_time

NOTE_CHARACTERS = 300
IPV6 = 6
Domain = Annotated[str, Argument(help="A domain, or the address of one of its pages.")]
Note = Annotated[str | None, Option(help="Reason; shown with the block or pardon.")]

app = typer.Typer(help="Show the source ledger; pardon or block sources.", no_args_is_help=True)


@app.command("list")
def list_(
    config: Config = None,
    limit: Annotated[int, Option(min=1, help="Show at most this many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List domains: blocked ones, then those with the most evidence against them."""
    settings = load_settings(config)
    with existing_engine(settings).connect() as connection:
        total, as_of_ms = listing.count_sources(connection), listing.latest_ms(connection)
        rows = [_described(s, as_of_ms, settings) for s in listing.summaries(connection, limit)]
    if as_json:
        print_json({"sources": total, "as_of": _time(as_of_ms), "rows": rows})
        return
    whole = ("reliability", "blamed", "between", "verdict")
    # `block` takes a domain: it is folded, never cut.
    print_table(("domain", *whole, "about"), map(_listed, rows), whole=whole)
    as_of = _day(_time(as_of_ms)) or "no event"
    say(f"{len(rows)} of {total} domains, as of {as_of}; reliability with its 95 % interval")


def _listed(row: dict[str, Any]) -> tuple[object, ...]:
    days = dict.fromkeys((_day(row["first"]), _day(row["last"])))
    return (
        cell(row["domain"], "red" if row["verdict"] == "blocked" else "", sites.KEY_CHARACTERS),
        Text(f"{row['reliability']:.2f}\n{row['low']:.2f}–{row['high']:.2f}"),
        row["events"],
        Text("\n".join(filter(None, days))),
        row["verdict"],
        cell("; ".join(row["claims"])),
    )


@app.command()
def show(
    domain: Domain,
    config: Config = None,
    limit: Annotated[int, Option(min=1, help="Events, newest first.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show one domain with the evidence against it and for it."""
    settings = load_settings(config)
    with existing_engine(settings).connect() as connection:
        name = _known_name(connection, domain, settings.sources)
        summary = listing.summary_of(connection, name)
        if summary is None:
            raise NotFoundError(f"the ledger knows nothing about {name!r}")
        row = _described(summary, listing.latest_ms(connection), settings)
        records = map(asdict, listing.history(connection, name, limit))
        events = [{"at": _time(values.pop("at_ms")), **values} for values in records]
    if as_json:
        print_json({**row, "history": events})
    else:
        _print_source(row, events)


@app.command()
def pardon(domain: Domain, config: Config = None, note: Note = None) -> None:
    """Judge a domain as if nothing were known of it, whatever the ledger has against it."""
    _judge(domain, config, SourceVerdict.PARDONED, note)


@app.command()
def block(domain: Domain, config: Config = None, note: Note = None) -> None:
    """Leave the documents of a domain out of every snapshot."""
    _judge(domain, config, SourceVerdict.BLOCKED, note)


@app.command()
def clear(domain: Domain, config: Config = None) -> None:
    """Undo `pardon` or `block`: the evidence decides again."""
    _judge(domain, config, None, None)


def _judge(
    domain: str, config: Path | None, verdict: SourceVerdict | None, note: str | None
) -> None:
    """Write a person's verdict, and say what holds now."""
    settings = load_settings(config)
    engine = existing_engine(settings)
    with engine.connect() as connection:
        name = _known_name(connection, domain, settings.sources)
        if verdict is not None:
            _insist_on_owner(connection, name)
    known = _write_verdict(engine, name, verdict, note and clean(note)[:NOTE_CHARACTERS])
    result = f"{name} is {verdict}" if verdict else f"{name} has no verdict"
    below = ", and every site below it" if verdict and sites.is_platform(name) else ""
    unheard = "" if known else "; nothing was known of it"
    unused = verdict is SourceVerdict.BLOCKED and not settings.sources.block
    remedy = "; without effect while sources.block is false" if unused else ""
    say(f"{result}{below}{unheard}{remedy}")


def _insist_on_owner(connection: Connection, domain: str) -> None:
    """Raise ConfigurationError for a registry's suffix that no page has as its source."""
    host = domain.partition("/")[0]
    if sites.is_registry_suffix(host) and listing.summary_of(connection, domain) is None:
        raise ConfigurationError(
            f"{printable(domain)} is no source: others register their names under it; "
            f"name one of them, as in example.{printable(host)}"
        )


def _write_verdict(
    engine: Engine, domain: str, verdict: SourceVerdict | None, note: str | None
) -> bool:
    """Write it; return whether the ledger had the domain."""

    def work(connection: Connection) -> bool:
        known = listing.summary_of(connection, domain) is not None
        if known or verdict is not None:
            judge(connection, domain, verdict, note)
        return known

    return in_transaction(engine, work)


def _known_name(connection: Connection, domain: str, settings: SourceSettings) -> str:
    """The ledger's name for a domain or an address. Raises ConfigurationError.

    Of a site's it is the host as typed where the ledger has that: other settings, or an earlier
    release, may have made it the key.
    """
    typed = domain.strip()
    url = typed if "://" in typed else f"https://{_bracketed(typed)}"
    host = sites.host_of(url)
    name = sites.key_of(Document(1, "", url=url), settings.granularity)
    # A key leaves blanks out: typed, they are a mistake that would become another name.
    if not name or any(c.isspace() or not c.isprintable() for c in host):
        raise ConfigurationError(f"{printable(domain)!r} names no domain")
    known = settings.granularity == "site" and listing.summary_of(connection, host) is not None
    return host if known else name


def _bracketed(host: str) -> str:
    """An IPv6 address as addresses of pages have it; anything else as it is."""
    try:
        return f"[{host}]" if ip_address(host).version == IPV6 else host
    except ValueError:
        return host


def _described(summary: listing.SourceSummary, as_of_ms: int, settings: Settings) -> dict[str, Any]:
    """A domain as JSON values, as of the latest event that the ledger knows."""
    standing = summary.standing
    counts = standing.counts.at(as_of_ms, settings.sources.half_life_days)
    low, high = credible_interval(*counts.parameters)
    used = standing.honesty(as_of_ms, settings.sources.half_life_days)
    return {
        "domain": standing.domain,
        "verdict": standing.verdict,
        "note": standing.note,
        "reliability": round(counts.honesty, 6),
        "honesty": round(counts.honesty, 6),  # its name before; `honest` and `dishonest` likewise
        "low": round(low, 6),
        "high": round(high, 6),
        "distrust": round(float(distrust(np.array(used), NEUTRAL)), 6),
        "honest": round(counts.honest, 6),
        "dishonest": round(counts.dishonest, 6),
        "events": summary.events,
        "first": _time(summary.first_ms),
        "last": _time(summary.last_ms),
        "claims": list(summary.claims),
    }


def _print_source(row: dict[str, Any], events: list[dict[str, Any]]) -> None:
    verdict = f", {row['verdict']}" if row["verdict"] else ""
    say(
        f"{row['domain']}: reliability {row['reliability']:.2f} "
        f"(95 %: {row['low']:.2f} to {row['high']:.2f}){verdict}"
    )
    say(
        f"evidence {row['honest']:.2f} for and {row['dishonest']:.2f} against it, faded; "
        f"distrust {row['distrust']:.2f}"
    )
    if row["note"]:
        say(f"note: {row['note']}")
    whole = ("when", "what", "counted")
    print_table(
        (*whole, "query", "step", "claim", "text"),  # `state show` takes a query: it is never cut
        (
            (
                _day(event["at"]),
                event["kind"],
                f"{event['weight']:g}",
                cell(event["query_id"], limit=NAME_CHARACTERS),
                event["step"],
                cell(event["claim"]),
                cell(event["text_id"], limit=14),
            )
            for event in events
        ),
        whole=whole,
    )


def _time(milliseconds: int | None) -> str | None:
    return stored_time(milliseconds) if milliseconds else None


def _day(time: str | None) -> str:
    return (time or "")[:10]
