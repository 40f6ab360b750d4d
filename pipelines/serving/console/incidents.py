"""The inbox of answers that somebody complained about, one incident with its evidence, and the
texts in quarantine.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents import quarantine, store
from radarstream.connectors.state_table.incidents.complaints import complaint_of, find_complaints
from radarstream.pipelines.job.operating.incidents import only_one, senders_of
from radarstream.pipelines.pages.incidents import incidents_view, stored
from radarstream.pipelines.pages.incidents.event_view import EventView
from radarstream.pipelines.pages.incidents.words import DECISIONS, FINDINGS, MODEL_ERRED, WAITING
from radarstream.pipelines.pages.times import minute
from radarstream.pipelines.serving.access import Operator
from radarstream.pipelines.serving.console.showing import (
    BELOW,
    Paging,
    page_number,
    show,
    understood,
)
from radarstream.pipelines.serving.context import Context
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.incidents import ComplaintState, Decision, Status

MOST: Final = 1_000  # incidents and texts that are listed
COMPLAINTS: Final = 100  # shown of one incident
STATES: Final = {"": "all", ComplaintState.OPEN.value: "waiting for attribution",
                 ComplaintState.JUDGED.value: "attributed or decided",
                 ComplaintState.UNUSABLE.value: "not usable"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class InboxLine:
    """An incident in the list: what stands, in words with a tone."""

    id: str
    query_id: str
    step: int
    answer: str
    complaints: int
    received: str
    stands: str
    tone: str
    decided: bool


def inbox_line(row: Mapping[str, Any]) -> InboxLine:
    """A line of the inbox from a row of the list of incidents."""
    if row["decision"] == Decision.MODEL_ERRED:
        stands, tone = MODEL_ERRED
    elif row["status"] in tuple(Status):
        stands, tone = DECISIONS[Status(row["status"])]
    else:
        known = row["state"] in tuple(ComplaintState)
        stands, tone = WAITING[ComplaintState(row["state"]) if known else ComplaintState.UNUSABLE]
    return InboxLine(
        id=row["incident"],
        query_id=row["query_id"],
        step=row["step"],
        answer=row["answer"],
        complaints=row["complaints"],
        received=minute(row["received_ms"]),
        stands=stands,
        tone=tone,
        decided=row["decision"] is not None,
    )


def inbox_sentence(lines: list[InboxLine]) -> str:
    """What waits, in one sentence."""
    if not lines:
        return "Nobody complained about an answer."
    open_ones = sum(not line.decided for line in lines)
    if not open_ones:
        return "A person decided about every incident."
    return f"{open_ones} {'incident waits' if open_ones == 1 else 'incidents wait'} for a decision."


def text_state(row: Mapping[str, Any]) -> tuple[str, str]:
    """Whether a text is left out, in words with a tone."""
    if row["active"]:
        return ("left out of all queries" if row["everywhere"] else "left out"), "bad"
    return ("released", "good") if row["released"] else (f"named: {row['status']}", "")


def router(context: Context) -> APIRouter:
    """Pages of incidents and of the quarantine."""
    routes = APIRouter(include_in_schema=False)
    engine, settings = context.engine, context.settings

    @routes.get(f"{BELOW}inbox")
    def inbox(request: Request, user: Operator, state: str = "", page: str = "1") -> HTMLResponse:
        wanted = ComplaintState(state) if state in tuple(ComplaintState) else None
        lines = [inbox_line(row) for row in store.list_incidents(engine, MOST, wanted)]
        paging = Paging(page_number(page), len(lines))
        return show(
            request,
            "inbox.html.j2",
            user,
            title="Inbox of complaints",
            sentence=inbox_sentence(lines),
            words=("Incident", "Approve", "Dismiss", "The model erred"),
            notes=[] if settings.attribution.enabled else [OFF],
            live=True,
            lines=lines[paging.offset : paging.last],
            paging=paging,
            state=wanted or "",
            states=STATES,
        )

    @routes.get(f"{BELOW}incident")
    def incident(request: Request, user: Operator, id: str = "") -> HTMLResponse:  # noqa: A002
        with understood():
            row = only_one(engine, id)
        return show(
            request,
            "incident.html.j2",
            user,
            title=row["answer"] or "(no answer)",
            sentence=inbox_line(row).stands.capitalize() + ".",
            words=("Approve", "Dismiss", "The model erred", "Quarantine"),
            heads=[("query", row["query_id"]), ("step", row["step"]), ("id", row["incident"])],
            live=True,
            row=row,
            who=senders_of(engine, row, settings.attribution).line(),
            event=event_of(engine, row),
            complaints=complaints_of(engine, row),
            findings=FINDINGS,
        )

    @routes.get(f"{BELOW}quarantine")
    def in_quarantine(
        request: Request, user: Operator, query: str = "", page: str = "1"
    ) -> HTMLResponse:
        rows = quarantine.list_quarantine(engine, query or None, limit=MOST)
        paging = Paging(page_number(page), len(rows))
        count = quarantine.count_active(engine)
        said = f"{count} {'text is' if count == 1 else 'texts are'} left out of snapshots."
        return show(
            request,
            "quarantine.html.j2",
            user,
            title="Quarantine",
            sentence=said if count else "No text is left out.",
            words=("Quarantine", "Release"),
            live=True,
            query=query,
            rows=rows[paging.offset : paging.last],
            paging=paging,
            text_state=text_state,
        )

    return routes


OFF: Final = "Attribution is off in these settings: [attribution] enabled = true switches it on."


def event_of(engine: Engine, row: Mapping[str, Any]) -> EventView | None:
    """What was found out about an incident, as its page shows it; None before the attribution."""
    known = store.look(engine, row["incident"])
    if known is None or known.event is None:
        return None
    with engine.connect() as connection:
        texts = quarantine.texts_of(connection, row["incident"])
    names = ("url", "title", "active", "everywhere", "released")
    held = [incidents_view.HeldText(**{name: text[name] for name in names}) for text in texts]
    found = incidents_view.incidents_of(
        [known.event], {known.id: known}, complaints_of(engine, row), {known.id: held}
    )
    view = incidents_view.stream_view(found).events
    return view[0] if view else None


def complaints_of(engine: Engine, row: Mapping[str, Any]) -> list[Any]:
    """The complaints behind an incident, the newest first."""
    found = find_complaints(
        engine, limit=stored.PER_INCIDENT * COMPLAINTS, query_id=row["query_id"]
    )
    mine = [complaint_of(one) for one in found if one["incident"] == row["incident"]]
    if not mine:
        raise NotFoundError("the complaints of this incident are gone")
    return mine[:COMPLAINTS]
