"""The inbox of complaints, one incident, the texts in quarantine, and decisions about them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Connection, Engine

from radarstream.connectors.state_table.database.statements import in_transaction
from radarstream.connectors.state_table.incidents import quarantine, store
from radarstream.connectors.state_table.incidents.complaints import (
    StoredComplaint,
    complaint_of,
    find_complaints,
)
from radarstream.connectors.state_table.incidents.kept_answers import find_answer
from radarstream.connectors.state_table.serving.action_log import last_action_on
from radarstream.connectors.state_table.serving.kept_events import find_event
from radarstream.pipelines.job.incidents import settling
from radarstream.pipelines.pages import wrong_answers
from radarstream.pipelines.serving.access import Operator
from radarstream.pipelines.serving.console import acting, showing
from radarstream.pipelines.serving.context import Context
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.incidents import ComplaintState, Decision
from radarstream.schemas.shown import one_line

MOST: Final = 1_000  # incidents and texts that are listed
COMPLAINTS: Final = 100  # shown of one incident
STATES: Final = {"": "all", ComplaintState.OPEN.value: "waiting for attribution",
                 ComplaintState.JUDGED.value: "attributed or decided",
                 ComplaintState.UNUSABLE.value: "not usable"}  # fmt: skip


def inbox_sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    """What waits, in one sentence."""
    if not rows:
        return "Nobody complained about an answer."
    open_ones = sum(row["decision"] is None for row in rows)
    if not open_ones:
        return "A person decided about every incident."
    return f"{open_ones} {'incident waits' if open_ones == 1 else 'incidents wait'} for a decision."


def inbox_page(context: Context) -> APIRouter:
    """The list of incidents."""
    routes, engine = APIRouter(), context.engine

    @routes.get(f"{showing.BELOW}inbox")
    def inbox(request: Request, user: Operator, state: str = "") -> HTMLResponse:
        wanted = ComplaintState(state) if state in tuple(ComplaintState) else None
        rows = store.list_incidents(engine, MOST, wanted)
        listing = showing.Listing.of(request, INBOX, ("complaints",), ("state",))
        if listing.search or listing.sort.endswith("question"):
            rows = with_questions(engine, rows)
        page = listing.page(rows)
        page["rows"] = with_questions(engine, page["rows"])  # others need no event decoded
        return showing.show(
            request,
            "inbox.html.j2",
            user,
            title="Inbox of complaints",
            sentence=inbox_sentence(rows),
            words=("Incident", "Approve", "Dismiss", "The model erred"),
            notes=[] if context.settings.attribution.enabled else [OFF],
            live=True,
            **page,
            standing_of=wrong_answers.standing_of,
            state=wanted or "",
            states=STATES,
        )

    return routes


def incident_page(context: Context) -> APIRouter:
    """One incident with its evidence, and what can be decided about it."""
    routes, engine = APIRouter(), context.engine

    @routes.get(f"{showing.BELOW}incident")
    def incident(request: Request, user: Operator, id: str = "") -> HTMLResponse:  # noqa: A002
        with showing.understood():
            row = settling.only_one(engine, id)
        with engine.connect() as connection:
            texts = quarantine.texts_of(connection, row["incident"])
            last = last_action_on(connection, row["incident"])
        (row,) = with_questions(engine, [row])
        return showing.show(
            request,
            "incident.html.j2",
            user,
            title=row["question"] or row["answer"] or "(no answer)",
            sentence=wrong_answers.standing_of(row)[0].capitalize() + ".",
            words=("Approve", "Dismiss", "The model erred", "Quarantine"),
            heads=[("query", row["query_id"]), ("step", row["step"]), ("id", row["incident"])],
            live=True,
            row=row,
            who=settling.senders_of(engine, row, context.settings.attribution).line(),
            texts=texts,
            last=f"{acting.in_words(last)} {last.detail}" if last else "",
            truth=truth_of(engine, row),
            event=event_of(engine, row, texts),
            complaints=complaints_of(engine, row),
        )

    return routes


def quarantine_page(context: Context) -> APIRouter:
    """The texts that are left out."""
    routes, engine = APIRouter(), context.engine

    @routes.get(f"{showing.BELOW}quarantine")
    def texts(request: Request, user: Operator, query: str = "") -> HTMLResponse:
        rows = quarantine.list_quarantine(engine, query or None, limit=MOST)
        count = quarantine.count_active(engine)
        said = f"{count} {'text is' if count == 1 else 'texts are'} left out of snapshots."
        return showing.show(
            request,
            "quarantine.html.j2",
            user,
            title="Quarantine",
            sentence=said if count else "No text is left out.",
            words=("Quarantine", "Release"),
            live=True,
            query=query,
            **showing.Listing.of(request, TEXTS, (), ("query",)).page(rows),
            text_state=wrong_answers.text_state,
        )

    return routes


INBOX: Final[showing.Columns] = {
    "question": lambda row: f"{row.get('question', '')} {row['query_id']}",
    "answer": itemgetter("answer"),
    "complaints": itemgetter("complaints"),
    "newest": itemgetter("received_ms"),
    "stands": lambda row: wrong_answers.standing_of(row)[0],
}
TEXTS: Final[showing.Columns] = {
    "text": lambda row: f"{row['title']} {row['url']} {row['excerpt']}",
    "query": itemgetter("query_id"),
    "state": lambda row: wrong_answers.text_state(row)[0],
    "since": itemgetter("updated_ms"),
}
OFF: Final = "Attribution is off in these settings: [attribution] enabled = true switches it on."


def with_questions(engine: Engine, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Incidents with their `question`; "" where nothing that is kept has it."""
    events = store.events_of(engine, [one["incident"] for one in rows if "question" not in one])

    def question(row: Mapping[str, Any]) -> str:
        known = events.get(row["incident"]) or find_event(engine, row["query_id"])
        return known.question if known else ""

    return [{"question": question(one)} | one if "question" not in one else one for one in rows]


def truth_of(engine: Engine, row: Mapping[str, Any]) -> str:
    """The right answers by the labels of a simulated snapshot; "" where there are none."""
    kept = find_answer(engine, row["query_id"], row["step"])
    labels = kept.snapshot.labels if kept else None
    return " or ".join(labels.answers) if labels else ""


def event_of(
    engine: Engine, row: Mapping[str, Any], texts: Sequence[Mapping[str, Any]]
) -> wrong_answers.EventView | None:
    """What was found out about an incident, as its page shows it; None before the attribution."""
    known = store.look(engine, row["incident"])
    if known is None or known.event is None:
        return None
    return wrong_answers.view_of(known, known.event, complaints_of(engine, row), texts)


def complaints_of(engine: Engine, row: Mapping[str, Any]) -> list[StoredComplaint]:
    """The complaints behind an incident, the newest first."""
    found = find_complaints(engine, COMPLAINTS, row["incident"])
    if not found:
        raise NotFoundError("the complaints of this incident are gone")
    return [complaint_of(one) for one in found]


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

    def propose(self, target: acting.Target) -> acting.Proposal:
        """What the decision leads to."""
        row = settling.only_one(target.engine, target["id"])
        incident = store.look(target.engine, row["incident"])
        title, button = TITLES[self.decision]
        about = (
            ("question", one_line(with_questions(target.engine, [row])[0]["question"], SHOWN)),
            ("wrong answer", one_line(row["answer"], SHOWN)),
            ("query", f"{row['query_id']}, step {row['step']}"),
            ("complaints", str(row["complaints"])),
            ("decision so far", str(row["decision"] or "none")),
        )
        approving = self.decision is Decision.APPROVED
        with target.engine.connect() as connection:
            texts = quarantine.texts_of(connection, row["incident"])
        held = {text["text_key"] for text in texts if not text["released"]}
        same = incident is not None and incident.decision is self.decision
        same &= not approving or target.chosen is None or held == set(target.chosen)
        return acting.Proposal(
            title=title,
            about=about,
            consequences=settling.consequences(
                target.engine,
                row["incident"],
                self.decision,
                target.settings.attribution,
                target.chosen if approving else None,
            ),  # fmt: skip
            button=button,
            seen=state_of(incident, texts),
            back=showing.link(f"{showing.BELOW}incident", id=row["incident"]),
            fields=("everywhere",) if approving else (),
            needless="This decision was made already." if same else "",
        )

    def carry_out(self, target: acting.Target, confirmed: acting.Confirmed) -> str:
        """Write the decision and what follows from it."""
        row = settling.only_one(target.engine, target["id"])
        complaint = complaint_of(row)
        rules = target.settings.attribution
        everywhere = self.decision is Decision.APPROVED and "everywhere" in confirmed.typed
        witness = acting.Witness(self.name, row["incident"], confirmed)
        chosen = target.chosen if self.decision is Decision.APPROVED else None

        def work(connection: Connection) -> str:
            settlement = settling.Settlement(connection, complaint, rules, confirmed.at_ms)
            held = settlement.incident
            texts = quarantine.texts_of(connection, row["incident"])
            left = {text["text_key"] for text in texts if not text["released"]}
            same = held.decision is self.decision and held.everywhere == everywhere
            same &= chosen is None or left == set(chosen)
            witness.insist(connection, state_of(held, texts), holds=same)
            settlement.decided(self.decision, everywhere=everywhere, texts=chosen)
            said = settlement.deed()
            witness.write(connection, said)
            return said

        return in_transaction(target.engine, work)


def state_of(incident: store.Incident | None, texts: Sequence[Mapping[str, Any]]) -> str:
    """How an incident stands: its decision, the number of its last event, what was let in."""
    if incident is None or (incident.decision is None and incident.revision < 0):
        return acting.fingerprint("new")
    let_in = sorted(text["text_key"] for text in texts if text["released"])
    return acting.fingerprint(
        str(incident.decision), incident.everywhere, incident.revision, let_in
    )


@dataclass(frozen=True, slots=True)
class Release:
    """Lets a text, or all texts of a query, back in; the target is `query` and maybe `text`."""

    name: str = "release"

    def propose(self, target: acting.Target) -> acting.Proposal:
        """Which texts come back."""
        query, key = target["query"], target["text"]
        held = _held(target.engine, query, key)
        keys = {row["text_key"] for row in held}
        shown = tuple(
            ("text", one_line(row["title"] or row["url"] or row["excerpt"], SHOWN))
            for row in held[:LISTED]
        )
        count = "this text" if len(keys) == 1 else f"{len(keys)} texts"
        return acting.Proposal(
            title="Release from quarantine",
            about=(("query", query), *shown),
            consequences=(
                f"From the next snapshot on, {count} may be read again for this query.",
                "A later incident may hold the same text again.",
            ),
            button="Release",
            seen=acting.fingerprint(sorted(keys)),
            back=f"{showing.BELOW}quarantine",
            needless="" if held else "No such text is in quarantine: it was released already.",
        )

    def carry_out(self, target: acting.Target, confirmed: acting.Confirmed) -> str:
        """Let them in."""
        query, key = target["query"], target["text"]
        held = _held(target.engine, query, key)
        witness = acting.Witness(self.name, f"{query} {key}".strip(), confirmed)
        keys = sorted({row["text_key"] for row in held})
        said = f"{len(keys)} text{'s' if len(keys) != 1 else ''} of {one_line(query, SHOWN)}"

        def work(connection: Connection) -> None:
            witness.insist(connection, acting.fingerprint(keys), holds=not keys)
            if not quarantine.release(connection, query, keys, confirmed.at_ms):
                raise acting.NothingToDoError("No text was held any more; nothing was done.")
            witness.write(connection, f"{said} let back in")

        in_transaction(target.engine, work)
        return f"{said} let back in"


def _held(engine: Engine, query: str, key: str) -> list[dict[str, Any]]:
    """The texts of a query in quarantine, or the one with this key."""
    if not query:
        raise NotFoundError("no query is named")
    rows = quarantine.list_quarantine(engine, query)
    return [row for row in rows if not key or row["text_key"] == key]
