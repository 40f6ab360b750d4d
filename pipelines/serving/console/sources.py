"""Sites with the wrong answers they taught, and the verdicts of persons about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Connection

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.sources import (
    Source,
    SourceVerdict,
    find_source,
    hold,
    judge,
    list_sources,
)
from radarstream.pipelines.job.sources import consequence, described, source_named
from radarstream.pipelines.serving.access import Operator
from radarstream.pipelines.serving.console import acting
from radarstream.pipelines.serving.console.showing import (
    BELOW,
    Columns,
    Listing,
    link,
    show,
    understood,
)
from radarstream.pipelines.serving.context import Context
from radarstream.schemas.wording import counted_noun

WORDS: Final = ("Block", "Pardon", "Clear")
ACTIONS: Final = {None: ("block", "pardon"), SourceVerdict.BLOCKED: ("clear", "pardon"),
                  SourceVerdict.PARDONED: ("clear", "block")}  # fmt: skip
SOURCES: Final[Columns] = {
    "source": lambda row: f"{row['domain']} {row['verdict'] or ''} {row['note'] or ''}",
    "wrong answers": itemgetter("wrong_answers"),
    "last": itemgetter("last"),
    "about": lambda row: ", ".join(row["claims"]),
}
BLAME: Final[Columns] = {
    "wrong answer": attrgetter("answer"),
    "query": attrgetter("query_id"),
    "day": attrgetter("observed_ms"),
    "address": attrgetter("url"),
}
EFFECTS: Final = {
    SourceVerdict.BLOCKED: "Its documents are left out of every snapshot from now on.",
    SourceVerdict.PARDONED: "Its documents are kept, although a name above it may be blocked.",
    None: "Its block or pardon is taken back.",
}


def sources_sentence(sources: Sequence[Source]) -> str:
    """What is known, in one sentence."""
    if not sources:
        return "No site is known to have taught a wrong answer."
    blocked = sum(source.verdict is SourceVerdict.BLOCKED for source in sources)
    blamed = counted_noun(sum(bool(source.blame) for source in sources), "site")
    return f"{blamed} taught wrong answers; {blocked} blocked by a person."


def router(context: Context) -> APIRouter:
    """Pages of sources."""
    routes = APIRouter(include_in_schema=False)

    @routes.get(f"{BELOW}sources")
    def listed(request: Request, user: Operator) -> HTMLResponse:
        with context.engine.connect() as connection:
            found = list_sources(connection)
        return show(
            request,
            "sources.html.j2",
            user,
            title="Sources",
            sentence=sources_sentence(found),
            words=WORDS,
            live=True,
            **Listing.of(request, SOURCES, ("wrong answers",)).page([described(s) for s in found]),
            actions=ACTIONS,
        )

    @routes.get(f"{BELOW}source")
    def one(request: Request, user: Operator, domain: str = "") -> HTMLResponse:
        with understood(), context.engine.connect() as connection:
            source = find_source(connection, source_named(domain))
        judged = f"{source.verdict.capitalize()} by a person" if source.verdict else "Not judged"
        note = f": {source.note}" if source.note else ""
        taught = counted_noun(len(source.blame), "wrong answer")
        return show(
            request,
            "source.html.j2",
            user,
            title=source.domain,
            sentence=f"{judged}{note}. It taught {taught}.",
            words=WORDS,
            live=True,
            source=source,
            actions=ACTIONS[source.verdict],
            **Listing.of(request, BLAME, (), ("domain",)).page(source.blame),
        )

    return routes


@dataclass(frozen=True, slots=True)
class Judge:
    """A person's verdict about a source, None to take one back; the target is its `domain`."""

    verdict: SourceVerdict | None
    name: str

    def propose(self, target: acting.Target) -> acting.Proposal:
        """What the verdict means."""
        domain = source_named(target["domain"])
        with target.engine.connect() as connection:
            source = find_source(connection, domain)
        return acting.Proposal(
            title=f"{self.name.capitalize()} {domain}",
            about=(
                ("source", domain),
                ("verdict so far", source.verdict or "none"),
                ("wrong answers it taught", str(len(source.blame))),
            ),
            consequences=(
                EFFECTS[self.verdict],
                f"After that: {consequence(domain, self.verdict)}.",
            ),
            button=self.name.capitalize(),
            seen=_state(source),
            back=link(f"{BELOW}source", domain=domain),
            fields=("note",) if self.verdict else (),
            needless="It is so already." if source.verdict is self.verdict else "",
        )

    def carry_out(self, target: acting.Target, confirmed: acting.Confirmed) -> str:
        """Write the verdict."""
        domain = source_named(target["domain"])
        note = confirmed.typed.get("note", "").strip() or None
        witness = acting.Witness(self.name, domain, confirmed)

        def write(connection: Connection) -> None:
            held = hold(connection, domain)
            witness.insist(connection, _state(held), holds=held.verdict is self.verdict)
            judge(connection, domain, self.verdict, note, confirmed.at_ms)
            said = f"{domain}: {self.verdict or 'no verdict'}"
            witness.write(connection, f"{said}; {note}" if note else said)

        in_transaction(target.engine, write)
        return consequence(domain, self.verdict)


def _state(source: Source) -> str:
    """How a source stands: its verdict and note."""
    return acting.fingerprint(source.verdict and str(source.verdict), source.note)
