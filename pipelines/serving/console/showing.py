"""How every page of the console is sent: its frame, its menu, its files, its errors."""

import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from radarstream.pipelines.pages import frame
from radarstream.pipelines.serving.access import COOKIE
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.pipelines.serving.limits import CSP
from radarstream.pipelines.serving.people import Role, User
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.support import TOLD_APART

HOME: Final = "/"
BELOW: Final = "/console/"
SIGN_IN: Final = "/console/sign-in"
FILES: Final = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "console.js": "text/javascript",
}
# Drawings carry their colours as style attributes; those hold no text of anybody else.
POLICY: Final = {"Content-Security-Policy": f"{CSP}; style-src-attr 'unsafe-inline'"}
# Address, name, and the roles of which one opens the page.
MENU: Final = (
    (HOME, "Answers", frozenset(Role)),
    (f"{BELOW}ask", "Ask", frozenset({Role.ASK})),
    (f"{BELOW}check", "Check", frozenset({Role.ASK})),
    (f"{BELOW}inbox", "Inbox", frozenset({Role.OPERATE})),
    (f"{BELOW}quarantine", "Quarantine", frozenset({Role.OPERATE})),
    (f"{BELOW}sources", "Sources", frozenset({Role.OPERATE})),
    (f"{BELOW}dead-letters", "Dead letters", frozenset({Role.OPERATE})),
    (f"{BELOW}health", "Health", frozenset({Role.OPERATE})),
    (f"{BELOW}actions", "Action log", frozenset({Role.OPERATE})),
)


def show(  # noqa: PLR0913 what a page is made of
    request: Request,
    template: str,
    user: User | None,
    *,
    title: str,
    sentence: str,
    words: Sequence[str] = (),
    heads: Sequence[tuple[str, object]] = (),
    notes: Sequence[str] = (),
    links: Sequence[tuple[str, str, object]] = (),
    status: int = 200,
    live: bool = False,
    **values: Any,
) -> HTMLResponse:
    """Render a page that explains `words`; a `live` one is fetched anew for each event."""
    meanings = {term: MEANINGS[term] for term in words}
    text = frame.render_served(
        f"console/{template}",
        frame.Page(title, sentence, links, meanings, heads=heads, notes=notes),
        user=user,
        menu=[(path, name) for path, name, any_of in MENU if user and any_of & user.roles],
        here=request.url.path,
        live=live,
        link=link,
        asset=asset,
        roles=Role,
        **values,
    )
    return HTMLResponse(text.encode("utf-8", "replace"), status, headers=POLICY)


def message(  # noqa: PLR0913 what a page is made of
    request: Request,
    user: User | None,
    title: str,
    sentence: str,
    *,
    lines: Sequence[str] = (),
    back: str = HOME,
    status: int = 200,
    signed_in: bool = True,
) -> HTMLResponse:
    """A page that says what became of a request."""
    return show(request, "message.html.j2", user, title=title, sentence=sentence, lines=lines,
                back=back, status=status, signed_in=signed_in)  # fmt: skip


@contextmanager
def understood() -> Iterator[None]:
    """Say in its own words what cannot be made of an address. Raises ServiceError 400."""
    try:
        yield
    except ConfigurationError as error:
        raise ServiceError(400, "invalid_value", str(error)) from None


@dataclass(frozen=True, slots=True)
class Paging:
    """One page of a list; `number` counts from 1."""

    number: int
    total: int
    size: int = 50

    @property
    def pages(self) -> int:
        """How many pages there are, at least one."""
        return max(1, -(-self.total // self.size))

    @property
    def offset(self) -> int:
        """Entries before this page."""
        return (self.number - 1) * self.size

    @property
    def first(self) -> int:
        """Number of the first entry, 0 where there is none."""
        return min(self.total, self.offset + 1)

    @property
    def last(self) -> int:
        """Number of the last entry."""
        return min(self.total, self.offset + self.size)


def page_number(text: str) -> int:
    """The number of a page as an address has it; 1 for nonsense.

    >>> page_number("3"), page_number("-1"), page_number("x")
    (3, 1, 1)
    """
    return max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1


def link(path: str, anchor: str = "", **parameters: object) -> str:
    """An address of ours; empty parameters are left out.

    >>> link("/console/answer", query="a b&c", step=None)
    '/console/answer?query=a+b%26c'
    """
    given = {name: str(value) for name, value in parameters.items() if value not in (None, "")}
    asked = f"?{urlencode(given, errors='replace')}" if given else ""
    return f"{path}{asked}{'#' + quote(anchor, errors='replace') if anchor else ''}"


@cache
def asset(name: str) -> str:
    """The address of one of our files, which changes with its content."""
    digest = sha256(frame.asset(name).encode()).hexdigest()[:12]
    return f"{BELOW}files/{digest}/{name}"


def file_response(digest: str, name: str) -> Response:
    """One of our files. Raises ServiceError 404."""
    if name not in FILES or asset(name) != f"{BELOW}files/{digest}/{name}":
        raise ServiceError(404, "not_found", "there is no such file")
    headers = {"Cache-Control": "public, max-age=31536000, immutable"}
    return Response(str(frame.asset(name)), headers=headers, media_type=FILES[name])


def error_page(request: Request, error: ServiceError) -> Response | None:
    """A page for an error, or the way to sign in; None for requests that are not the console's."""
    path = request.url.path
    if path != HOME and not path.startswith(BELOW):
        return None
    if error.status == 401 and request.method in ("GET", "HEAD"):
        asked = f"{path}?{request.url.query}" if request.url.query else path
        return RedirectResponse(link(SIGN_IN, next=own_path(asked)), 303)
    title = TITLES.get(error.status, "This did not work")
    said = as_sentence("sign in first" if error.status == 401 else error.message)
    known = COOKIE in request.cookies
    response = message(request, None, title, said, status=error.status, signed_in=known)
    response.headers.update(error.headers)
    return response


TITLES: Final = {
    400: "The request cannot be read",
    401: "You are not signed in",
    403: "You may not do this",
    404: "There is nothing here",
    429: "Too many attempts",
    503: "Not at the moment",
}


def as_sentence(message: str) -> str:
    """A message as a sentence of its own.

    >>> as_sentence("sign in first")
    'Sign in first.'
    """
    ended = message.endswith((".", "!", "?"))
    return f"{message[:1].upper()}{message[1:]}{'' if ended else '.'}"


def own_path(path: str) -> str:
    """The same path if it is a page of the console, else the first page: no way to other sites.

    >>> own_path("//evil.example"), own_path("/console/inbox?state=open")
    ('/', '/console/inbox?state=open')
    """
    plain = path.isascii() and path.isprintable() and "\\" not in path
    return path if plain and (path.startswith((BELOW, "/?")) or path == HOME) else HOME


MEANINGS: Final = tomllib.loads(frame.asset("console/meanings.toml")) | {
    "Status": f"what an answer rests on. {TOLD_APART}"
}
