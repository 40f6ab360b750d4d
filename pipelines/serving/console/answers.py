"""The watchlist with its current answers, and the timeline of one query."""

from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Engine, func, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.service_tables import KEPT_EVENTS
from radarstream.connectors.state_table.database.tables import WATCHLIST
from radarstream.connectors.state_table.incidents.kept_answers import kept_answers
from radarstream.connectors.state_table.serving import kept_events
from radarstream.pipelines.pages import frame
from radarstream.pipelines.pages.cut_graph import cut_graph
from radarstream.pipelines.pages.verdict_words import (
    ABSTENTIONS,
    STATUSES,
    energy_parts,
    reranking_in_words,
    side_in_words,
    standing_in_words,
    support_in_words,
)
from radarstream.pipelines.serving.console import answers_view as view
from radarstream.pipelines.serving.console.forms import Reader
from radarstream.pipelines.serving.console.showing import show, words
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.people import Role
from radarstream.schemas.errors import NotFoundError
from radarstream.schemas.snapshot import SearchSnapshot

LONGEST_SEARCH: Final = 200
SORTS: Final[dict[kept_events.Order, str]] = {
    "answered": "answered last",
    "changed": "changed last",
    "question": "question",
}


def router(context: Context) -> APIRouter:
    """Pages of answers."""
    routes = APIRouter(include_in_schema=False)

    @routes.get("/")
    def watchlist(
        request: Request, user: Reader, q: str = "", sort: str = "answered", page: str = "1"
    ) -> HTMLResponse:
        return show_watchlist(context, request, user, (q, sort, page))

    @routes.get("/console/answer")
    def answer(request: Request, user: Reader, query: str = "") -> HTMLResponse:
        return show_timeline(context, request, user, query)

    return routes


def show_watchlist(context: Context, request: Request, user: Any, asked: Any) -> HTMLResponse:
    """The list of queries with their answers. `asked` are search, order and page as typed."""
    search, number = asked[0][:LONGEST_SEARCH], view.page_number(asked[2])
    order: kept_events.Order = next((name for name in SORTS if name == asked[1]), "answered")
    offset = view.Paging(number, 0).offset
    found = kept_events.latest_events(
        context.engine, search=search, order=order, limit=view.PER_PAGE, offset=offset
    )
    paging = view.Paging(number, found.total)
    unanswered = 0 if search else count_unanswered(context.engine)
    page = frame.Page(
        title="Answers",
        sentence=view.watch_sentence(paging, search, unanswered),
        links=(),
        words=words("Support", "Status", "Changed", "Standing"),
    )
    lines = [view.watch_line(one) for one in found.latest]
    return show(request, "watchlist.html.j2", page, user, live=True, search=search, sort=order,
                sorts=SORTS, paging=paging, lines=lines)  # fmt: skip


def show_timeline(context: Context, request: Request, user: Any, query: str) -> HTMLResponse:
    """One query over time. Raises NotFoundError."""
    from radarstream.pipelines.pages.replay.belief_history import history

    kept = kept_events.history(context.engine, query, limit=view.STEPS)
    told = view.timeline(kept, snapshots_of(context.engine, query))
    if told is None:
        raise NotFoundError("no answer of this query is kept")
    latest = told.steps[-1]
    page = frame.Page(
        title=told.question,
        sentence=view.timeline_sentence(latest.event, len(told.changed), len(told.steps)),
        heads=[("query", query), ("defence", latest.event.defense), ("last snapshot", latest.date)],
        links=(("#history", "History", True), ("#steps", "Steps", True)),
        words=words("Support", "Status", "Belief", "Kept, rejected", "Standing"),
    )
    return show(
        request,
        "answer.html.j2",
        page,
        user,
        live=True,
        query=told,
        query_id=query,
        latest=view.watch_line(kept_events.Latest(kept[0].seq, latest.event, None)),
        may_report=Role.REPORT in user.roles and not latest.event.abstention,
        history=history,
        first_open=latest.anchor,
        **STEP_WORDS,
    )


STEP_WORDS: Final[dict[str, Any]] = {  # what the section of a step needs
    "abstentions": ABSTENTIONS,
    "statuses": STATUSES,
    "side_in_words": side_in_words,
    "support_in_words": support_in_words,
    "standing_in_words": standing_in_words,
    "energy_parts": energy_parts,
    "reranking_in_words": reranking_in_words,
    "cut_graph": cut_graph,
}


def snapshots_of(engine: Engine, query: str) -> dict[str, SearchSnapshot]:
    """The snapshots of the answers that are kept for attribution, by id."""
    return {one.snapshot.id: one.snapshot for one in kept_answers(engine, query)}


def count_unanswered(engine: Engine) -> int:
    """How many queries of the watchlist have no kept event."""
    answered = select(KEPT_EVENTS.c.query_id).where(KEPT_EVENTS.c.query_id == WATCHLIST.c.query_id)
    waiting = select(func.count()).select_from(WATCHLIST)
    return int(db.fetch_value(engine, waiting.where(WATCHLIST.c.active, ~answered.exists())) or 0)
