"""Sign in with a token, and out again."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from radarstream.pipelines.serving import access
from radarstream.pipelines.serving.console.showing import HOME, SIGN_IN, as_sentence, own_path, show
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.pipelines.serving.people import User
from radarstream.schemas.section import is_loopback


def router(context: Context) -> APIRouter:
    """The pages of a session's beginning and end."""
    routes = APIRouter(include_in_schema=False, dependencies=[Depends(access.open_to_all)])

    def page(request: Request, onward: str, problem: str = "", status: int = 200) -> HTMLResponse:
        return show(
            request,
            "sign_in.html.j2",
            None,
            title="Sign in",
            sentence="The console shows what the job is doing.",
            status=status,
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
            shown = page(request, next, as_sentence(error.message), error.status)
            shown.headers.update(
                {name: value for name, value in error.headers.items() if name == "Retry-After"}
            )
            return shown
        if (
            request.cookies.get(access.COOKIE) != opened.session
        ):  # signing in never goes on with one
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
