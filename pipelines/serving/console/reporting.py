"""A user says that an answer is wrong."""

from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from radarstream.connectors.state_table.serving.action_log import log_action
from radarstream.connectors.state_table.serving.kept_events import find_event
from radarstream.pipelines.job.incidents.intake import RefusedComplaintError
from radarstream.pipelines.job.incidents.reporting import report
from radarstream.pipelines.serving.access import Form, MayReport
from radarstream.pipelines.serving.console.answers import answer_in_words
from radarstream.pipelines.serving.console.showing import BELOW, link, message, show
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.people import User
from radarstream.schemas.errors import InputError, NotFoundError
from radarstream.schemas.times import milliseconds

TITLE: Final = "Complain about an answer"
NEXT: Final = (
    "The worker (radarstream attribute) finds out which texts taught the answer, and a person"
    " decides.",
)
COMMENT: Final = 2_000  # characters
Step = Annotated[int, Query(ge=0, le=2**53)]


def taken(  # noqa: PLR0913 what a complaint is made of
    context: Context,
    request: Request,
    user: User,
    query: str,
    answer: str,
    *,
    step: int | None = None,
    comment: str = "",
    back: str,
) -> HTMLResponse:
    """Take a complaint in and write that down; a page says what became of it."""
    status, lines, said = 200, NEXT, "Thank you, the complaint was taken."
    began_ms = milliseconds(datetime.now(UTC))
    try:
        stored = report(context.settings, context.engine, user.name, query, answer, step, comment)
    except (InputError, RefusedComplaintError) as error:
        detail = error.detail if isinstance(error, InputError) else str(error)
        status, said, lines = 409, "The complaint was not taken.", (detail,)
    else:
        if stored.received_ms < began_ms:
            said = "You complained about this answer before."
        else:
            where = f"{stored.query_id}, step {stored.step}"
            log_action(context.engine, at_ms=stored.received_ms, user=user.name, action="report",
                       target=stored.incident, detail=where)  # fmt: skip
    return message(request, user, TITLE, said, lines=lines, back=back, status=status)


def router(context: Context) -> APIRouter:
    """The page on which a person complains about an answer of a watched query."""
    routes = APIRouter(include_in_schema=False)

    @routes.get(f"{BELOW}report")
    def ask(
        request: Request, user: MayReport, query: str = "", step: Step | None = None
    ) -> HTMLResponse:
        """Without a step, of the newest answer."""
        kept = find_event(context.engine, query, step)
        if kept is None or kept.event.abstention is not None:
            raise NotFoundError("no answer of this query is kept at this step")
        step = kept.event.step
        return show(
            request,
            "report.html.j2",
            user,
            title=TITLE,
            sentence=f"You say that this answer is wrong: {answer_in_words(kept.event)}",
            words=("Incident",),
            heads=[("query", query), ("step", step)],
            question=kept.event.question,
            action=link(f"{BELOW}report", query=query, step=step),
            back=link(f"{BELOW}answer", query=query),
        )

    @routes.post(f"{BELOW}report")
    def send(
        request: Request, user: MayReport, form: Form, query: str = "", step: Step = 0
    ) -> HTMLResponse:
        kept = find_event(context.engine, query, step)
        if kept is None:
            raise NotFoundError("no answer of this query is kept at this step")
        comment = form.get("comment", "").strip()[:COMMENT]
        return taken(context, request, user, query, kept.event.answer, step=step, comment=comment,
                     back=link(f"{BELOW}answer", query=query))  # fmt: skip

    return routes
