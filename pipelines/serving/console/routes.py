"""All routes of the console."""

from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from radarstream.connectors.state_table.serving.action_log import read_actions
from radarstream.connectors.state_table.sources import SourceVerdict
from radarstream.pipelines.serving.access import Form, Operator, open_to_all
from radarstream.pipelines.serving.console import (
    answers,
    incidents,
    letters,
    operations,
    questions,
    session,
    showing,
    sources,
)
from radarstream.pipelines.serving.console.acting import Action, Confirmed, NothingToDoError, Target
from radarstream.pipelines.serving.console.incidents import Decide, Release
from radarstream.pipelines.serving.console.sources import Judge
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.schemas import errors
from radarstream.schemas.incidents import Decision
from radarstream.schemas.times import now_ms

ACTIONS: Final[dict[str, Action]] = {
    action.name: action
    for action in (
        Decide(Decision.APPROVED, "approve"),
        Decide(Decision.DISMISSED, "dismiss"),
        Decide(Decision.MODEL_ERRED, "model-erred"),
        Release(),
        Judge(SourceVerdict.BLOCKED, "block"),
        Judge(SourceVerdict.PARDONED, "pardon"),
        Judge(None, "clear"),
    )
}
PARTS: Final = (session, answers, questions, incidents, sources, letters, operations)


def router(context: Context) -> APIRouter:
    """The pages of the console, its actions and its files."""
    routes = APIRouter(include_in_schema=False)
    for part in PARTS:
        routes.include_router(part.router(context))

    @routes.get(f"{showing.BELOW}files/{{digest}}/{{name}}", dependencies=[Depends(open_to_all)])
    def file(digest: str, name: str) -> Response:
        return showing.file_response(digest, name)

    @routes.get(f"{showing.BELOW}act/{{name}}")
    def ask(request: Request, user: Operator, name: str) -> HTMLResponse:
        target = Target(context.engine, context.settings, dict(request.query_params))
        try:
            proposal = action_named(name).propose(target)
        except tuple(REFUSALS) as error:
            return refused(request, user, error)
        action = showing.link(f"{showing.BELOW}act/{name}", **target.named)
        return showing.show(
            request, "confirm.html.j2", user, title=proposal.title, sentence=QUESTION,
            proposal=proposal, action=action,
        )  # fmt: skip

    @routes.post(f"{showing.BELOW}act/{{name}}")
    def act(request: Request, user: Operator, form: Form, name: str) -> Response:
        target = Target(context.engine, context.settings, dict(request.query_params))
        action = action_named(name)
        confirmed = Confirmed(user.name, now_ms(), form.get("seen", ""), form)
        try:
            action.carry_out(target, confirmed)
        except tuple(REFUSALS) as error:
            return refused(request, user, error)
        return RedirectResponse(showing.link(f"{showing.BELOW}done", of=confirmed.at_ms), 303)

    @routes.get(f"{showing.BELOW}done")
    def done(request: Request, user: Operator, of: str = "") -> HTMLResponse:
        mine = read_actions(context.engine, user=user.name, limit=20)
        row = next((one for one in mine if str(one.at_ms) == of), None)
        if row is None:
            raise errors.NotFoundError("you did nothing at that time")
        lines = (f"{row.action} is written to the action log with your name.",)
        sentence = f"{row.detail.rstrip('.')}."
        return showing.message(request, user, "Done", sentence, lines=lines, back=BACK[row.action])

    return routes


REFUSALS: Final[dict[type[errors.RadarstreamError], int]] = {  # what an action says, and its status
    NothingToDoError: 200,
    errors.StateConflictError: 409,
    errors.ConfigurationError: 400,
}
QUESTION: Final = "Please look at what will follow, and confirm."
BACK: Final = {
    **dict.fromkeys(("approve", "dismiss", "model-erred", "report"), f"{showing.BELOW}inbox"),
    **dict.fromkeys(("block", "pardon", "clear"), f"{showing.BELOW}sources"),
    "release": f"{showing.BELOW}quarantine",
}


def action_named(name: str) -> Action:
    """The action of a name. Raises ServiceError 404."""
    if name not in ACTIONS:
        raise ServiceError(404, "not_found", "there is no such action")
    return ACTIONS[name]


def refused(request: Request, user: Operator, error: Exception) -> HTMLResponse:
    """A page that says why an action was not done."""
    back = BACK.get(request.url.path.rpartition("/")[2], showing.HOME)
    status = next(status for kind, status in REFUSALS.items() if isinstance(error, kind))
    return showing.message(
        request, user, "Nothing was done", showing.as_sentence(str(error)), back=back, status=status
    )
