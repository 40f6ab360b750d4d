"""Pardon, block or clear a source, as actions of the console."""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.sources import listing
from radarstream.pipelines.job.operating import sources
from radarstream.pipelines.serving.console.acting import (
    Confirmed,
    Proposal,
    Target,
    Witness,
    fingerprint,
)
from radarstream.pipelines.serving.console.showing import BELOW, link
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.sources import SourceVerdict

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

    def propose(self, engine: Engine, settings: Settings, target: Target) -> Proposal:
        """What the verdict means."""
        with engine.connect() as connection:
            domain = self._meant(connection, settings, target)
            summary = listing.summary_of(connection, domain)
        stands = summary.standing.verdict if summary else None
        effect = sources.consequence(
            domain, self.verdict, settings.sources, known=summary is not None
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

    def carry_out(
        self, engine: Engine, settings: Settings, target: Target, confirmed: Confirmed
    ) -> str:
        """Write the verdict."""
        with engine.connect() as connection:
            domain = self._meant(connection, settings, target)
        note = confirmed.typed.get("note", "").strip() or None
        witness = Witness(self.name, domain, confirmed)
        known = False

        def write(connection: Connection) -> None:
            summary = listing.summary_of(connection, domain)
            held = summary.standing.verdict if summary else None
            witness.insist(connection, _state(summary), holds=held == self.verdict)
            said = f"{domain}: {self.verdict or 'no verdict'}"
            witness.write(connection, f"{said}; {note}" if note else said)

        known = sources.write_verdict(engine, domain, self.verdict, note, [write])
        return sources.consequence(domain, self.verdict, settings.sources, known=known)

    def _meant(self, connection: Connection, settings: Settings, target: Target) -> str:
        domain = sources.known_name(connection, target.get("domain", ""), settings.sources)
        if self.verdict is not None:
            sources.insist_on_owner(connection, domain)
        elif listing.summary_of(connection, domain) is None:
            raise NotFoundError("the ledger knows nothing about this source")
        return domain


def _state(summary: listing.SourceSummary | None) -> str:
    """How a source stands: its verdict and note. A row that was just made has neither."""
    standing = summary.standing if summary else None
    return fingerprint(standing and standing.verdict, standing and standing.note)
