"""A user says that an answer is wrong."""

from datetime import UTC, datetime
from typing import Final

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from sqlalchemy import Engine

from radarstream.connectors.state_table.serving.action_log import log_action
from radarstream.connectors.state_table.serving.kept_events import find_event
from radarstream.defenses.attribution.protection import Rules
from radarstream.pipelines.job.incidents.intake import RefusedComplaintError, checked, take_in
from radarstream.pipelines.pages import frame
from radarstream.pipelines.serving.console.answers_view import answer_in_words
from radarstream.pipelines.serving.console.forms import Form, Reporting
from radarstream.pipelines.serving.console.showing import BELOW, link, show, words
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.people import User
from radarstream.schemas.errors import ConfigurationError, NotFoundError
from radarstream.schemas.incidents import Complaint
from radarstream.schemas.times import milliseconds

TITLE: Final = "Report a wrong answer"
NEXT: Final = (
    "The worker (radarstream attribute) finds out which texts taught the answer, and a person"
    " decides.",
)
COMMENT: Final = 2_000  # characters


def take(engine: Engine, rules: Rules, complaint: Complaint) -> str:
    """Take a complaint in and write that down; return what became of it, in words.

    Raises ConfigurationError, RefusedComplaintError.
    """
    stored = take_in(engine, checked(complaint), rules, complaint.sent_at)
    if stored.received_ms != milliseconds(complaint.sent_at):
        return "You reported this answer before."
    log_action(engine, at_ms=stored.received_ms, user=complaint.sender, action="report",
               target=stored.incident, detail=f"{stored.query_id}, step {stored.step}")  # fmt: skip
    return "Thank you, the report was taken."


def answered(
    context: Context, request: Request, user: User, complaint: Complaint, back: str
) -> HTMLResponse:
    """A page that says what became of a complaint."""
    status, lines = 200, NEXT
    try:
        said = take(context.engine, context.settings.attribution, complaint)
    except (ConfigurationError, RefusedComplaintError) as error:
        status, said, lines = 409, "The report was not taken.", (str(error),)
    told = frame.Page(title=TITLE, sentence=said, links=(), words=words("Incident"))
    return show(request, "message.html.j2", told, user, status=status, lines=lines, back=back,
                signed_in=True)  # fmt: skip


def router(context: Context) -> APIRouter:
    """The page on which a person complains about an answer of a watched query."""
    routes = APIRouter(include_in_schema=False)

    @routes.get(f"{BELOW}report")
    def ask(request: Request, user: Reporting, query: str = "", step: int = 0) -> HTMLResponse:
        kept = find_event(context.engine, query, step)
        if kept is None or kept.event.abstention is not None:
            raise NotFoundError("no answer of this query is kept at this step")
        told = frame.Page(
            title=TITLE,
            sentence=f"You say that this answer is wrong: {answer_in_words(kept.event)}",
            heads=[("query", query), ("step", step)],
            links=(),
            words=words("Incident"),
        )
        return show(request, "report.html.j2", told, user, question=kept.event.question,
                    action=link(f"{BELOW}report", query=query, step=step),
                    back=link(f"{BELOW}answer", query=query))  # fmt: skip

    @routes.post(f"{BELOW}report")
    def send(
        request: Request, user: Reporting, form: Form, query: str = "", step: int = 0
    ) -> HTMLResponse:
        kept = find_event(context.engine, query, step)
        if kept is None:
            raise NotFoundError("no answer of this query is kept at this step")
        comment = form.get("comment", "").strip()[:COMMENT]
        complaint = Complaint(
            user.name, datetime.now(UTC), query, None, kept.event.answer, step, comment
        )
        back = link(f"{BELOW}answer", query=query)
        return answered(context, request, user, complaint, back)

    return routes
