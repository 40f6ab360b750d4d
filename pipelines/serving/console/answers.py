"""The watchlist with its current answers, and the timeline of one query."""

from dataclasses import replace
from datetime import datetime
from operator import attrgetter
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Engine, func, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import KEPT_EVENTS, WATCHLIST
from radarstream.connectors.state_table.incidents.kept_answers import kept_answers
from radarstream.connectors.state_table.serving import kept_events
from radarstream.pipelines.pages import verdict_words as words
from radarstream.pipelines.pages.safe_text import minute, shorten
from radarstream.pipelines.pages.steps import build_step
from radarstream.pipelines.serving.access import Reader
from radarstream.pipelines.serving.console.showing import Columns, Listing, Paging, show
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.people import Role
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.times import milliseconds

WATCHED: Final[Columns] = {  # sorted and searched by the database
    "question": attrgetter("event.question"),
    "answer": None,
    "rests on": None,
    "changed": attrgetter("changed_at"),
    "answered": attrgetter("event.observed_at"),
}
STEPS: Final = 60  # of a timeline


def watchlist_page(context: Context) -> APIRouter:
    """The list of watched queries."""
    routes, engine = APIRouter(), context.engine

    @routes.get("/")
    def watchlist(request: Request, user: Reader) -> HTMLResponse:
        """The list of queries with their answers."""
        listing = Listing.of(request, WATCHED)
        search, paging = listing.search, Paging(listing.number, 0)
        found = kept_events.latest_events(
            engine, search=search, sort=listing.sort, limit=paging.size, offset=paging.offset
        )
        paging = replace(paging, total=found.total)
        unanswered = 0 if search else count_unanswered(engine)
        return show(
            request,
            "watchlist.html.j2",
            user,
            title="Answers",
            sentence=watch_sentence(paging, search, unanswered),
            words=("Support", "Status", "Changed", "Standing"),
            live=True,
            listing=listing,
            paging=paging,
            rows=found.latest,
            grounds_of=grounds_of,
            said=answer_in_words,
            moment=moment,
        )

    return routes


def answer_page(context: Context) -> APIRouter:
    """The timeline of a query."""
    routes, engine = APIRouter(), context.engine

    @routes.get("/console/answer")
    def answer(request: Request, user: Reader, query: str = "") -> HTMLResponse:
        """One query over time. Raises NotFoundError."""
        kept = kept_events.history(engine, query, limit=STEPS)
        snapshots = {one.snapshot.id: one.snapshot for one in kept_answers(engine, query)}
        steps = [
            build_step(event, snapshots.get(event.snapshot_id), f"step-{event.step}")
            for event in sorted(kept, key=attrgetter("step"))
        ]
        if not steps:
            raise NotFoundError("no answer of this query is kept")
        latest, event = steps[-1], steps[-1].event
        changes = sum(bool(step.event.changed) for step in steps)
        return show(
            request,
            "answer.html.j2",
            user,
            title=shorten(event.question, 300),
            sentence=timeline_sentence(event, changes, len(steps)),
            words=("Support", "Status", "Belief", "Kept, rejected", "Standing"),
            heads=[("query", query), ("defence", event.defense), ("last snapshot", latest.date)],
            links=(("#history", "History", True), ("#steps", "Steps", True)),
            live=True,
            steps=steps,
            query_id=query,
            step=event.step,
            grounds=grounds_of(event),
            may_report=Role.REPORT in user.roles and not event.abstention,
            first_open=latest.anchor,
        )

    return routes


def count_unanswered(engine: Engine) -> int:
    """How many queries of the watchlist have no kept event."""
    answered = select(KEPT_EVENTS.c.query_id).where(KEPT_EVENTS.c.query_id == WATCHLIST.c.query_id)
    waiting = select(func.count()).select_from(WATCHLIST)
    return int(db.fetch_value(engine, waiting.where(WATCHLIST.c.active, ~answered.exists())) or 0)


def grounds_of(event: AnswerEvent) -> tuple[str, str, str]:
    """What an answer rests on: its status in words with a tone, and what is behind it."""
    behind = words.support_in_words(event.support) if event.support else ""
    if event.standing is not None:
        behind = words.standing_in_words(event.standing)
    return words.STATUSES[event.status], words.TONES[event.status], behind


def moment(time: datetime | None) -> str:
    """A time as the console shows it, in UTC; empty for none."""
    return "" if time is None else minute(milliseconds(time))


def answer_in_words(event: AnswerEvent) -> str:
    """The answer, or why there is none."""
    if event.abstention is not None:
        return f"No answer: {words.ABSTENTIONS[event.abstention]}"
    return event.answer


def watch_sentence(paging: Paging, search: str, unanswered: int) -> str:
    """What the watchlist shows, in one sentence."""
    count = f"{paging.total:,} {'query has' if paging.total == 1 else 'queries have'} an answer"
    if search:
        return f"{count} or question with these characters."
    waiting = f"; {unanswered:,} on the watchlist wait for their first one" if unanswered else ""
    return f"{count}{waiting}."


def timeline_sentence(event: AnswerEvent, changes: int, steps: int) -> str:
    """What a timeline says, in one sentence."""
    said = answer_in_words(event)
    ended = "" if said.endswith((".", "!", "?")) else "."
    kept = "the snapshot" if steps == 1 else f"the {steps} snapshots"
    often = {0: "did not change", 1: "changed once"}.get(changes, f"changed {changes} times")
    return (
        f"{said}{ended} The answer {often} over {kept} that {'is' if steps == 1 else 'are'} kept."
    )
