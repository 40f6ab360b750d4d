"""Sign in with a token, and out again."""

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from radarstream.pipelines.serving.access import (
    COOKIE,
    Form,
    close_session,
    open_session,
    open_to_all,
    user_of,
)
from radarstream.pipelines.serving.console.showing import HOME, SIGN_IN, as_sentence, own_path, show
from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError


def router(context: Context) -> APIRouter:
    """The pages of a session's beginning and end."""
    routes = APIRouter(include_in_schema=False, dependencies=[Depends(open_to_all)])

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
    async def sign_in(request: Request, form: Form, next: str = HOME) -> Response:  # noqa: A002
        response = RedirectResponse(own_path(next), 303)
        try:
            opened = await open_session(request, response, form.get("token", "").strip())
        except ServiceError as error:
            shown = page(request, next, as_sentence(error.message), error.status)
            shown.headers.update(
                {name: value for name, value in error.headers.items() if name == "Retry-After"}
            )
            return shown
        await end_former(request, context, opened.session)
        return response

    @routes.post("/console/sign-out")
    async def sign_out(request: Request) -> Response:
        await user_of(request)  # insists on the CSRF token of the session
        response = RedirectResponse(SIGN_IN, 303)
        await close_session(request, response)
        response.headers["Clear-Site-Data"] = '"cache"'
        return response

    return routes


async def end_former(request: Request, context: Context, opened: str) -> None:
    """End the session that the browser came with: signing in never goes on with one."""
    former = request.cookies.get(COOKIE, "")
    if former and former != opened:
        await context.close_session(former)
