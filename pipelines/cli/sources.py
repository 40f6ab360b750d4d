"""`radarstream sources`: which domains are blamed, since when, for what; pardon or block them."""

from dataclasses import asdict
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.engine import retry_contended
from radarstream.connectors.state_table.sources.ledger import judge
from radarstream.connectors.state_table.sources.listing import (
    SourceRecord,
    SourceSummary,
    count_sources,
    history,
    latest_ms,
    summaries,
    summary_of,
)
from radarstream.defenses.kernels.honesty import credible_interval, distrust
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config
from radarstream.pipelines.cli.terminal import cell, empty_table, print_json, printable, stdout
from radarstream.pipelines.settings import Settings, SourceSettings, load_settings
from radarstream.schemas.codec import clean
from radarstream.schemas.errors import ConfigurationError, NotFoundError
from radarstream.schemas.sites import (
    KEY_CHARACTERS,
    host_of,
    is_platform,
    is_registry_suffix,
    key_of,
)
from radarstream.schemas.snapshot import Document
from radarstream.schemas.sources import NAME_CHARACTERS, NEUTRAL, SourceVerdict
from radarstream.schemas.times import stored_time

NOTE_CHARACTERS = 300
IPV6 = 6
Domain = Annotated[str, typer.Argument(help="A domain, or the address of one of its pages.")]
Note = Annotated[str | None, typer.Option(help="Reason; shown with the block or pardon.")]

app = typer.Typer(help="Show the source ledger; pardon or block sources.", no_args_is_help=True)


@app.command("list")
def list_(
    config: Config = None,
    limit: Annotated[int, typer.Option(min=1, help="Rows.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Show blocked domains, then those with most against them."""
    settings = load_settings(config)
    with existing_engine(settings).connect() as connection:
        total, as_of_ms = count_sources(connection), latest_ms(connection)
        rows = [described(s, as_of_ms, settings) for s in summaries(connection, limit)]
    if as_json:
        print_json({"sources": total, "as_of": moment(as_of_ms), "rows": rows})
        return
    whole = ("reliability", "blamed", "between", "verdict")  # a domain is what `block` takes: it
    table = empty_table("domain", *whole, "about", whole=whole)  # is folded, never cut
    for row in rows:
        domain = row["domain"]
        table.add_row(
            cell(domain, "red" if row["verdict"] == "blocked" else "", limit=KEY_CHARACTERS),
            f"{row['reliability']:.2f}\n{row['low']:.2f}–{row['high']:.2f}",
            str(row["events"]),
            "\n".join(dict.fromkeys(filter(None, (day(row["first"]), day(row["last"]))))),
            row["verdict"] or "",
            cell("; ".join(row["claims"])),
        )
    stdout.print(table)
    stdout.print(
        f"{len(rows)} of {total} domains, as of {day(moment(as_of_ms)) or 'no event'}; "
        "reliability with its 95 % interval"
    )


@app.command()
def show(
    domain: Domain,
    config: Config = None,
    limit: Annotated[int, typer.Option(min=1, help="Events, newest first.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Show one domain with what is held against it and in its favour."""
    settings = load_settings(config)
    with existing_engine(settings).connect() as connection:
        name = known_name(connection, domain, settings.sources)
        summary = summary_of(connection, name)
        if summary is None:
            raise NotFoundError(f"the ledger knows nothing about {name!r}")
        row = described(summary, latest_ms(connection), settings)
        events = [told(record) for record in history(connection, name, limit)]
    if as_json:
        print_json({**row, "history": events})
    else:
        print_source(row, events)


@app.command()
def pardon(domain: Domain, config: Config = None, note: Note = None) -> None:
    """Judge a domain as if nothing were known of it, whatever is held against it."""
    give_verdict(domain, config, SourceVerdict.PARDONED, note)


@app.command()
def block(domain: Domain, config: Config = None, note: Note = None) -> None:
    """Leave the documents of a domain out of every snapshot."""
    give_verdict(domain, config, SourceVerdict.BLOCKED, note)


@app.command()
def clear(domain: Domain, config: Config = None) -> None:
    """Undo `pardon` or `block`: the evidence decides again."""
    give_verdict(domain, config, None, None)


def give_verdict(
    domain: str, config: Path | None, verdict: SourceVerdict | None, note: str | None
) -> None:
    """Write a person's word, and say what holds now."""
    settings = load_settings(config)
    engine = existing_engine(settings)
    with engine.connect() as connection:
        name = known_name(connection, domain, settings.sources)
        if verdict is not None:
            insist_on_owner(connection, name)
    known = write_verdict(engine, name, verdict, note and clean(note)[:NOTE_CHARACTERS])
    told = f"{printable(name)} is {verdict}" if verdict else f"{printable(name)} has no verdict"
    below = ", and every site below it" if verdict and is_platform(name) else ""
    unheard = "" if known else "; nothing was known of it"
    unused = verdict is SourceVerdict.BLOCKED and not settings.sources.block
    remedy = "; without effect while sources.block is false" if unused else ""
    stdout.print(f"{told}{below}{unheard}{remedy}", markup=False, highlight=False, soft_wrap=True)


def insist_on_owner(connection: Connection, domain: str) -> None:
    """Raise ConfigurationError for a registry's suffix that no page has as its source."""
    host = domain.partition("/")[0]
    if is_registry_suffix(host) and summary_of(connection, domain) is None:
        raise ConfigurationError(
            f"{printable(domain)} is no source: others register their names under it; "
            f"name one of them, as in example.{printable(host)}"
        )


def write_verdict(
    engine: Engine, domain: str, verdict: SourceVerdict | None, note: str | None
) -> bool:
    """Write it; return whether the ledger had the domain."""

    def work() -> bool:
        with engine.begin() as connection:
            known = summary_of(connection, domain) is not None
            if known or verdict is not None:
                judge(connection, domain, verdict, note)
            return known

    return retry_contended(work)


def known_name(connection: Connection, domain: str, settings: SourceSettings) -> str:
    """The ledger's name for a domain: of a site's, the host as typed where the ledger has that.

    Other settings, or an earlier release, may have made it the key.
    """
    name, typed = named(domain, settings), host_of(address_of(domain))
    if settings.granularity == "site" and summary_of(connection, typed) is not None:
        return typed
    return name


def named(domain: str, settings: SourceSettings) -> str:
    """The ledger's name for a domain or an address. Raises ConfigurationError."""
    url = address_of(domain)
    name = key_of(Document(1, "", url=url), settings.granularity)
    # A key leaves blanks out: typed, they are a mistake that would become another name.
    if not name or any(c.isspace() or not c.isprintable() for c in host_of(url)):
        raise ConfigurationError(f"{printable(domain)!r} names no domain")
    return name


def address_of(domain: str) -> str:
    """What was typed, as an address."""
    return domain.strip() if "://" in domain else f"https://{bracketed(domain.strip())}"


def bracketed(host: str) -> str:
    """An IPv6 address as addresses of pages have it; anything else as it is."""
    try:
        return f"[{host}]" if ip_address(host).version == IPV6 else host
    except ValueError:
        return host


def described(summary: SourceSummary, as_of_ms: int, settings: Settings) -> dict[str, Any]:
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
        "first": moment(summary.first_ms),
        "last": moment(summary.last_ms),
        "claims": list(summary.claims),
    }


def told(record: SourceRecord) -> dict[str, Any]:
    """One row of a domain's past as JSON values."""
    values = asdict(record)
    return {"at": moment(values.pop("at_ms")), **values}


def print_source(row: dict[str, Any], events: list[dict[str, Any]]) -> None:
    """Print one domain."""
    verdict = f", {row['verdict']}" if row["verdict"] else ""
    lines = [
        f"{row['domain']}: reliability {row['reliability']:.2f} "
        f"(95 %: {row['low']:.2f} to {row['high']:.2f}){verdict}",
        f"evidence {row['honest']:.2f} for and {row['dishonest']:.2f} against it, faded; "
        f"distrust {row['distrust']:.2f}",
    ]
    for line in [*lines, *([f"note: {row['note']}"] if row["note"] else [])]:
        stdout.print(printable(line, 1_000), markup=False, highlight=False, soft_wrap=True)
    whole = ("when", "what", "counted")  # the query is folded, never cut: `state show` takes it
    table = empty_table(*whole, "query", "step", "claim", "text", whole=whole)
    for event in events:
        table.add_row(
            day(event["at"]),
            event["kind"],
            f"{event['weight']:g}",
            cell(event["query_id"] or "", limit=NAME_CHARACTERS),
            "" if event["step"] is None else str(event["step"]),
            cell(event["claim"] or ""),
            cell(event["text_id"] or "", limit=14),
        )
    stdout.print(table)


def moment(milliseconds: int | None) -> str | None:
    """A time as on the wire; None for none."""
    return stored_time(milliseconds) if milliseconds else None


def day(time: str | None) -> str:
    """The date of a time."""
    return (time or "")[:10]
