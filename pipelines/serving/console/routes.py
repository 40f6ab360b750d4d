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
    sources,
)
from radarstream.pipelines.serving.console.acting import Action, Confirmed, NothingToDoError, Target
from radarstream.pipelines.serving.console.incidents import Decide, Release
from radarstream.pipelines.serving.console.showing import (
    BELOW,
    HOME,
    as_sentence,
    file_response,
    link,
    message,
    show,
)
from radarstream.pipelines.serving.console.sources import Judge
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.schemas.errors import (
    ConfigurationError,
    NotFoundError,
    RadarstreamError,
    StateConflictError,
)
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

    @routes.get(f"{BELOW}files/{{digest}}/{{name}}", dependencies=[Depends(open_to_all)])
    def file(digest: str, name: str) -> Response:
        return file_response(digest, name)

    @routes.get(f"{BELOW}act/{{name}}")
    def ask(request: Request, user: Operator, name: str) -> HTMLResponse:
        target = Target(context.engine, context.settings, dict(request.query_params))
        try:
            proposal = action_named(name).propose(target)
        except tuple(REFUSALS) as error:
            return refused(request, user, error)
        action = link(f"{BELOW}act/{name}", **target.named)
        return show(request, "confirm.html.j2", user, title=proposal.title, sentence=QUESTION,
                    proposal=proposal, action=action)  # fmt: skip

    @routes.post(f"{BELOW}act/{{name}}")
    def act(request: Request, user: Operator, form: Form, name: str) -> Response:
        target = Target(context.engine, context.settings, dict(request.query_params))
        action = action_named(name)
        confirmed = Confirmed(user.name, now_ms(), form.get("seen", ""), form)
        try:
            action.carry_out(target, confirmed)
        except tuple(REFUSALS) as error:
            return refused(request, user, error)
        return RedirectResponse(link(f"{BELOW}done", of=confirmed.at_ms), 303)

    @routes.get(f"{BELOW}done")
    def done(request: Request, user: Operator, of: str = "") -> HTMLResponse:
        mine = read_actions(context.engine, user=user.name, limit=20)
        row = next((one for one in mine if str(one.at_ms) == of), None)
        if row is None:
            raise NotFoundError("you did nothing at that time")
        lines = (f"{row.action} is written to the action log with your name.",)
        sentence = f"{row.detail.rstrip('.')}."
        return message(request, user, "Done", sentence, lines=lines, back=BACK[row.action])

    return routes


REFUSALS: Final[dict[type[RadarstreamError], int]] = {  # what an action says, and its status
    NothingToDoError: 200,
    StateConflictError: 409,
    ConfigurationError: 400,
}
QUESTION: Final = "Please look at what will follow, and confirm."
BACK: Final = {
    **dict.fromkeys(("approve", "dismiss", "model-erred", "report"), f"{BELOW}inbox"),
    **dict.fromkeys(("block", "pardon", "clear"), f"{BELOW}sources"),
    "release": f"{BELOW}quarantine",
}


def action_named(name: str) -> Action:
    """The action of a name. Raises ServiceError 404."""
    if name not in ACTIONS:
        raise ServiceError(404, "not_found", "there is no such action")
    return ACTIONS[name]


def refused(request: Request, user: Operator, error: Exception) -> HTMLResponse:
    """A page that says why an action was not done."""
    back = BACK.get(request.url.path.rpartition("/")[2], HOME)
    status = next(status for kind, status in REFUSALS.items() if isinstance(error, kind))
    return message(
        request, user, "Nothing was done", as_sentence(str(error)), back=back, status=status
    )
