"""Sources with their record, and the verdicts of persons about them."""

from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Connection

from radarstream.connectors.state_table.sources import listing
from radarstream.pipelines.job.operating import sources
from radarstream.pipelines.job.operating.sources import described, known_name
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.incidents.sources_view import Known, SourceView, sources_view
from radarstream.pipelines.pages.incidents.stored import PAST
from radarstream.pipelines.pages.incidents.words import KINDS
from radarstream.pipelines.serving.access import Operator
from radarstream.pipelines.serving.console.acting import (
    Confirmed,
    Proposal,
    Target,
    Witness,
    fingerprint,
)
from radarstream.pipelines.serving.console.showing import BELOW, link, show, understood
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.sources import NEUTRAL, SourceVerdict

WORDS: Final = ("Reliability", "Block", "Pardon", "Clear")
MOST: Final = 200  # sources that are listed
ACTIONS: Final = {None: ("block", "pardon"), "blocked": ("clear", "pardon"),
                  "pardoned": ("clear", "block")}  # fmt: skip


def sources_sentence(rows: list[dict[str, Any]], total: int) -> str:
    """What the ledger says, in one sentence."""
    if not total:
        return "The ledger is empty: it holds no evidence about any source."
    blocked = sum(row["verdict"] == "blocked" for row in rows)
    worse = sum(row["reliability"] < NEUTRAL for row in rows)
    known = f"{total:,} {'source is' if total == 1 else 'sources are'} known"
    said = f"{known}; {worse} {'is' if worse == 1 else 'are'} less reliable than an unknown one"
    return f"{said}, {blocked} blocked by a person."


def router(context: Context) -> APIRouter:
    """Pages of sources."""
    routes = APIRouter(include_in_schema=False)
    settings = context.settings

    @routes.get(f"{BELOW}sources")
    def listed(request: Request, user: Operator) -> HTMLResponse:
        with context.engine.connect() as connection:
            total, as_of_ms = listing.count_sources(connection), listing.latest_ms(connection)
            found = listing.summaries(connection, MOST)
        rows = [described(one, as_of_ms, settings.sources) for one in found]
        return show(
            request,
            "sources.html.j2",
            user,
            title="Sources",
            sentence=sources_sentence(rows, total),
            words=WORDS,
            notes=notes(settings, total),
            live=True,
            rows=rows,
            actions=ACTIONS,
        )

    @routes.get(f"{BELOW}source")
    def one(request: Request, user: Operator, domain: str = "") -> HTMLResponse:
        with understood():
            view = source_of(context, domain)
        verdict = view.standing.verdict
        reliable = f"Reliability {frame.decimal(view.counts.honesty)}; no person judged it."
        places = {
            (record.query_id, record.step): link(
                "", query=record.query_id, anchor=f"step-{record.step}"
            )
            for record in view.known.records
            if record.query_id is not None and record.step is not None
        }
        return show(
            request,
            "source.html.j2",
            user,
            title=view.standing.domain,
            sentence=f"{verdict.capitalize()} by a person." if verdict else reliable,
            words=WORDS,
            live=True,
            source=view,
            kinds=KINDS,
            anchors=places,
            actions=ACTIONS[str(verdict) if verdict else None],
            answers=f"{BELOW}answer",
        )

    return routes


def notes(settings: Settings, total: int) -> list[str]:
    """What qualifies the list."""
    told = []
    if not settings.sources.block:
        told.append("Blocks are without effect while sources.block is false.")
    if total > MOST:
        told.append(f"The {MOST} with most against them are shown; the field finds any other.")
    return told


def source_of(context: Context, domain: str) -> SourceView:
    """One source with the evidence about it. Raises NotFoundError, ConfigurationError."""
    settings = context.settings
    with context.engine.connect() as connection:
        name = known_name(connection, domain, settings.sources)
        summary = listing.summary_of(connection, name)
        if summary is None:
            raise NotFoundError("the ledger knows nothing about this source")
        known = Known(summary, tuple(listing.history(connection, name, PAST)))
        as_of_ms = listing.latest_ms(connection)
    half_life = settings.sources.half_life_days
    return sources_view([known], total=1, as_of_ms=as_of_ms, half_life_days=half_life).sources[0]


EFFECTS: Final = {
    SourceVerdict.BLOCKED: "Its documents are left out of every snapshot from now on.",
    SourceVerdict.PARDONED: "It is judged as if nothing were known of it, whatever the ledger has "
    "against it.",
    None: "Its block or pardon is taken back: the evidence decides again.",
}


@dataclass(frozen=True, slots=True)
class Judge:
    """A person's verdict about a source, None to take one back; the target is its `domain`."""

    verdict: SourceVerdict | None
    name: str

    def propose(self, target: Target) -> Proposal:
        """What the verdict means."""
        with target.engine.connect() as connection:
            domain = self._meant(connection, target)
            summary = listing.summary_of(connection, domain)
        stands = summary.standing.verdict if summary else None
        effect = sources.consequence(
            domain, self.verdict, target.settings.sources, known=summary is not None
        )
        return Proposal(
            title=f"{self.name.capitalize()} {domain}",
            about=(
                ("source", domain),
                ("verdict so far", str(stands or "none")),
                ("wrong answers blamed on it", str(summary.events if summary else 0)),
            ),
            consequences=(EFFECTS[self.verdict], f"After that: {effect}."),
            button=self.name.capitalize(),
            seen=_state(summary),
            back=link(f"{BELOW}source", domain=domain),
            fields=("note",) if self.verdict else (),
            needless="It has this verdict already." if stands == self.verdict else "",
        )

    def carry_out(self, target: Target, confirmed: Confirmed) -> str:
        """Write the verdict."""
        with target.engine.connect() as connection:
            domain = self._meant(connection, target)
        note = confirmed.typed.get("note", "").strip() or None
        witness = Witness(self.name, domain, confirmed)
        known = False

        def write(connection: Connection) -> None:
            summary = listing.summary_of(connection, domain)
            held = summary.standing.verdict if summary else None
            witness.insist(connection, _state(summary), holds=held == self.verdict)
            said = f"{domain}: {self.verdict or 'no verdict'}"
            witness.write(connection, f"{said}; {note}" if note else said)

        known = sources.write_verdict(target.engine, domain, self.verdict, note, [write])
        return sources.consequence(domain, self.verdict, target.settings.sources, known=known)

    def _meant(self, connection: Connection, target: Target) -> str:
        domain = sources.known_name(connection, target["domain"], target.settings.sources)
        if self.verdict is not None:
            sources.insist_on_owner(connection, domain)
        elif listing.summary_of(connection, domain) is None:
            raise NotFoundError("the ledger knows nothing about this source")
        return domain


def _state(summary: listing.SourceSummary | None) -> str:
    """How a source stands: its verdict and note. A row that was just made has neither."""
    standing = summary.standing if summary else None
    return fingerprint(standing and standing.verdict, standing and standing.note)
