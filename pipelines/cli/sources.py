"""`radarstream sources`: which domains are blamed, since when, for what; pardon or block them."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text
from typer import Argument, Option

from radarstream.connectors.state_table.sources import listing
from radarstream.pipelines.build import existing_engine
from radarstream.pipelines.cli.options import AsJson, Config
from radarstream.pipelines.cli.terminal import cell, print_json, print_table, say
from radarstream.pipelines.job.operating.sources import (
    consequence,
    described,
    insist_on_owner,
    known_name,
    time_of,
    write_verdict,
)
from radarstream.pipelines.settings import load_settings
from radarstream.schemas import sites
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.sources import NAME_CHARACTERS, SourceVerdict

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
        rows = [
            described(s, as_of_ms, settings.sources) for s in listing.summaries(connection, limit)
        ]
    if as_json:
        print_json({"sources": total, "as_of": time_of(as_of_ms), "rows": rows})
        return
    whole = ("reliability", "blamed", "between", "verdict")
    # `block` takes a domain: it is folded, never cut.
    print_table(("domain", *whole, "about"), map(_listed, rows), whole=whole)
    as_of = _day(time_of(as_of_ms)) or "no event"
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
        name = known_name(connection, domain, settings.sources)
        summary = listing.summary_of(connection, name)
        if summary is None:
            raise NotFoundError(f"the ledger knows nothing about {name!r}")
        row = described(summary, listing.latest_ms(connection), settings.sources)
        records = map(asdict, listing.history(connection, name, limit))
        events = [{"at": time_of(values.pop("at_ms")), **values} for values in records]
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
        name = known_name(connection, domain, settings.sources)
        if verdict is not None:
            insist_on_owner(connection, name)
    known = write_verdict(engine, name, verdict, note)
    say(consequence(name, verdict, settings.sources, known=known))


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


def _day(time: str | None) -> str:
    return (time or "")[:10]
