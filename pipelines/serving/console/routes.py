"""All routes of the console, and its sessions: sign in with a token, and out again."""

from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from radarstream.connectors.state_table.serving.action_log import read_actions
from radarstream.connectors.state_table.sources import SourceVerdict
from radarstream.pipelines.job.incidents.settling import NAMES
from radarstream.pipelines.serving import access
from radarstream.pipelines.serving.access import Form, Operator, open_to_all
from radarstream.pipelines.serving.console import (
    answers,
    incidents,
    operations,
    questions,
    showing,
    sources,
)
from radarstream.pipelines.serving.console.acting import Action, Confirmed, NothingToDoError, Target
from radarstream.pipelines.serving.console.incidents import Decide, Release
from radarstream.pipelines.serving.console.showing import HOME, SIGN_IN, own_path, show
from radarstream.pipelines.serving.console.sources import Judge
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.pipelines.serving.people import User
from radarstream.schemas import errors
from radarstream.schemas.section import is_loopback
from radarstream.schemas.times import now_ms


def session_pages(context: Context) -> APIRouter:
    """The pages of a session's beginning and end."""
    routes = APIRouter(include_in_schema=False, dependencies=[Depends(access.open_to_all)])

    def page(request: Request, onward: str, problem: ServiceError | None = None) -> HTMLResponse:
        return show(
            request,
            "sign_in.html.j2",
            None,
            title="Sign in",
            sentence="Ask questions, read answers, decide about complaints.",
            problem=problem,
            next=own_path(onward),
            hours=context.settings.serving.session_hours,
        )

    @routes.get(SIGN_IN)
    async def ask_for_token(request: Request, next: str = HOME) -> HTMLResponse:  # noqa: A002
        return page(request, next)

    @routes.post(SIGN_IN)
    async def sign_in(request: Request, form: access.Form, next: str = HOME) -> Response:  # noqa: A002
        response = RedirectResponse(own_path(next), 303)
        try:
            opened = await open_session(request, response, form.get("token", "").strip())
        except ServiceError as error:
            return page(request, next, error)
        if request.cookies.get(access.COOKIE) != opened.session:  # the session before ends
            await end_session(request, context)
        return response

    @routes.post("/console/sign-out")
    async def sign_out(request: Request) -> Response:
        await access.user_of(request)  # insists on the CSRF token of the session
        response = RedirectResponse(SIGN_IN, 303)
        await end_session(request, context)
        response.delete_cookie(access.COOKIE, path="/", httponly=True, samesite="strict")
        response.headers["Clear-Site-Data"] = '"cache"'
        return response

    return routes


async def open_session(request: Request, response: Response, token: str) -> User:
    """Sign in with a token: set the cookie of a new session on `response`. Raises ServiceError."""
    access.refuse_foreign_origin(request)
    context = access.context_of(request)
    known = await access.by_token(request, token)
    user = await run_in_threadpool(context.people.open_session, known)
    response.set_cookie(
        access.COOKIE,
        user.session,
        max_age=int(context.settings.serving.session_hours * 3600),
        path="/",
        secure=request.url.scheme == "https" or not is_loopback(request.url.hostname or ""),
        httponly=True,
        samesite="strict",
    )
    return user


async def end_session(request: Request, context: Context) -> None:
    """End the session that the browser came with, here at once and elsewhere within seconds."""
    if session := request.cookies.get(access.COOKIE, ""):
        await run_in_threadpool(context.people.close_session, session)
        context.by_session.forget(session)


DECISIONS: Final[list[Action]] = [Decide(decision, name) for decision, name in NAMES.items()]
ACTIONS: Final[dict[str, Action]] = {
    action.name: action
    for action in (
        *DECISIONS,
        Release(),
        Judge(SourceVerdict.BLOCKED, "block"),
        Judge(SourceVerdict.PARDONED, "pardon"),
        Judge(None, "clear"),
    )
}
PAGES: Final = (
    *(answers.watchlist_page, answers.answer_page, questions.router, sources.router),
    *(incidents.inbox_page, incidents.incident_page, incidents.quarantine_page, operations.router),
)


def router(context: Context) -> APIRouter:
    """The pages of the console, its actions and its files."""
    routes = APIRouter(include_in_schema=False)
    for pages in (session_pages, *PAGES, action_pages):
        routes.include_router(pages(context))

    @routes.get(f"{showing.BELOW}files/{{digest}}/{{name}}", dependencies=[Depends(open_to_all)])
    def file(digest: str, name: str) -> Response:
        return showing.file_response(digest, name)

    return routes


def action_pages(context: Context) -> APIRouter:
    """The pages on which an action is confirmed, and what became of it."""
    routes = APIRouter(include_in_schema=False)

    def target_of(request: Request) -> Target:
        asked = request.query_params
        chosen = tuple(asked.getlist("text")) if "choose" in asked else None
        return Target(context.engine, context.settings, dict(asked), chosen)

    @routes.get(f"{showing.BELOW}act/{{name}}")
    def ask(request: Request, user: Operator, name: str) -> HTMLResponse:
        target = target_of(request)
        try:
            proposal = action_named(name).propose(target)
        except tuple(REFUSALS) as error:
            return refused(request, user, error)
        action = f"{request.url.path}?{request.url.query}"
        return showing.show(
            request, "confirm.html.j2", user, title=proposal.title, sentence=QUESTION,
            proposal=proposal, action=action,
        )  # fmt: skip

    @routes.post(f"{showing.BELOW}act/{{name}}")
    def act(request: Request, user: Operator, form: Form, name: str) -> Response:
        target = target_of(request)
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
