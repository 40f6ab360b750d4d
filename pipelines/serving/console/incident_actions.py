"""Decisions about incidents, and texts that are let back in, as actions of the console."""

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.incidents import quarantine, store
from radarstream.connectors.state_table.incidents.complaints import complaint_of
from radarstream.pipelines.job.incidents import settling
from radarstream.pipelines.job.operating.incidents import MEANING, Removal, only_one, removal_of
from radarstream.pipelines.serving.console.acting import (
    Confirmed,
    NothingToDoError,
    Proposal,
    Target,
    Witness,
    fingerprint,
)
from radarstream.pipelines.serving.console.showing import BELOW, link
from radarstream.pipelines.settings import Settings
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.incidents import Decision
from radarstream.schemas.shown import one_line

SHOWN: Final = 200  # characters of an answer or a question
LISTED: Final = 10  # texts by name
TITLES: Final = {
    Decision.APPROVED: ("Approve: the answer is wrong", "Approve"),
    Decision.DISMISSED: ("Dismiss: the answer is not wrong", "Dismiss"),
    Decision.MODEL_ERRED: ("The model erred", "Say that the model erred"),
}


@dataclass(frozen=True, slots=True)
class Decide:
    """A person's decision about an incident; the target is its id."""

    decision: Decision
    name: str

    def propose(self, engine: Engine, settings: Settings, target: Target) -> Proposal:
        """What the decision leads to."""
        row = only_one(engine, target.get("id", ""))
        incident = store.look(engine, row["incident"])
        title, button = TITLES[self.decision]
        about = (
            ("wrong answer", one_line(row["answer"], SHOWN)),
            ("query", f"{row['query_id']}, step {row['step']}"),
            ("complaints", str(row["complaints"])),
            ("decision so far", str(row["decision"] or "none")),
        )
        approving = self.decision is Decision.APPROVED
        same = incident is not None and incident.decision is self.decision
        return Proposal(
            title=title,
            about=about,
            consequences=tuple(self._consequences(engine, row, settings)),
            button=button,
            seen=state_of(incident),
            back=link(f"{BELOW}incident", id=row["incident"]),
            fields=("everywhere",) if approving else (),
            needless="This decision was made already." if same else "",
        )

    def _consequences(self, engine: Engine, row: dict[str, Any], settings: Settings) -> list[str]:
        said = f"You say that this answer is {MEANING[self.decision]}."
        if self.decision is not Decision.APPROVED:
            back = "Texts that are held for it are let back in, and their sources get back what was"
            trust = "loses" if self.decision is Decision.DISMISSED else "gains"
            return [said, f"{back} counted against them.", f"Whoever complained {trust} trust."]
        removal = removal_of(engine, row["incident"], settings.attribution)
        return [said, *removal_in_words(removal), "Whoever complained gains trust."]

    def carry_out(
        self, engine: Engine, settings: Settings, target: Target, confirmed: Confirmed
    ) -> str:
        """Write the decision and what follows from it."""
        row = only_one(engine, target.get("id", ""))
        complaint = complaint_of(row)
        policy = settling.policy_of(settings)
        everywhere = self.decision is Decision.APPROVED and "everywhere" in confirmed.typed
        witness = Witness(self.name, row["incident"], confirmed)
        said = f"{one_line(row['query_id'], SHOWN)}: {one_line(row['answer'], SHOWN)!r} is"
        scope = ", for all queries" if everywhere else ""

        def work(connection: Connection) -> None:
            settlement = settling.Settlement(connection, complaint, policy, confirmed.at_ms)
            held = settlement.incident
            same = held.decision is self.decision and held.everywhere == everywhere
            witness.insist(connection, state_of(held), holds=same)
            settlement.decided(self.decision, everywhere=everywhere)
            witness.write(connection, f"{said} {MEANING[self.decision]}{scope}")

        in_transaction(engine, work)
        return f"{said} {MEANING[self.decision]}{scope}"


def state_of(incident: store.Incident | None) -> str:
    """How an incident stands: its decision, and the number of its last event."""
    if incident is None or (incident.decision is None and incident.revision < 0):
        return fingerprint("new")
    return fingerprint(str(incident.decision), incident.everywhere, incident.revision)


def removal_in_words(removal: Removal) -> list[str]:
    """Which texts an approval leaves out."""
    if removal.why_none:
        return [removal.why_none[0].upper() + removal.why_none[1:] + "."]
    count = len(removal.texts)
    named = [
        one_line(row["url"] or row["title"] or row["excerpt"], SHOWN)
        for row in removal.texts[:LISTED]
    ]
    more = f", and {count - LISTED} more" if count > LISTED else ""
    which = "1 text is" if count == 1 else f"{count} texts are"
    return [f"{which} left out of snapshots of this query: {'; '.join(named)}{more}."]


@dataclass(frozen=True, slots=True)
class Release:
    """Lets a text, or all texts of a query, back in; the target is `query` and maybe `text`."""

    name: str = "release"

    def propose(
        self,
        engine: Engine,
        settings: Settings,  # noqa: ARG002
        target: Target,
    ) -> Proposal:
        """Which texts come back."""
        query, key = target.get("query", ""), target.get("text", "")
        held = _held(engine, query, key)
        keys = {row["text_key"] for row in held}
        shown = tuple(
            ("text", one_line(row["title"] or row["url"] or row["excerpt"], SHOWN))
            for row in held[:LISTED]
        )
        count = "this text" if len(keys) == 1 else f"{len(keys)} texts"
        return Proposal(
            title="Release from quarantine",
            about=(("query", query), *shown),
            consequences=(
                f"From the next snapshot on, {count} may be read again for this query.",
                "What was counted against the sources for the same wrong answer is taken back.",
                "A later incident may hold the same text again.",
            ),
            button="Release",
            seen=fingerprint(sorted(keys)),
            back=f"{BELOW}quarantine",
            needless="" if held else "No such text is in quarantine: it was released already.",
        )

    def carry_out(
        self, engine: Engine, settings: Settings, target: Target, confirmed: Confirmed
    ) -> str:
        """Let them in."""
        query, key = target.get("query", ""), target.get("text", "")
        held = _held(engine, query, key)
        witness = Witness(self.name, f"{query} {key}".strip(), confirmed)
        keys = sorted({row["text_key"] for row in held})
        said = f"{len(keys)} text{'s' if len(keys) != 1 else ''} of {one_line(query, SHOWN)}"
        with engine.connect() as connection:
            witness.insist(connection, fingerprint(keys), holds=not keys)
        freed = settling.release(
            engine,
            query,
            keys,
            settling.policy_of(settings),
            now_ms=confirmed.at_ms,
            beside=[lambda connection: witness.write_once(connection, f"{said} let back in")],
        )
        if not freed:
            raise NothingToDoError("No text was held any more; nothing was done.")
        return f"{said} let back in"


def _held(engine: Engine, query: str, key: str) -> list[dict[str, Any]]:
    """The texts of a query in quarantine, or the one with this key."""
    if not query:
        raise NotFoundError("no query is named")
    rows = quarantine.list_quarantine(engine, query)
    return [row for row in rows if not key or row["text_key"] == key]
