"""How every page of the console is sent: its frame, its menu, its files, its errors."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import Any, Final
from urllib.parse import quote, urlencode

from fastapi import Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from radarstream.connectors.state_table.serving.kept_events import searchable
from radarstream.pipelines.pages import frame
from radarstream.pipelines.serving.access import COOKIE, REFUSED
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.pipelines.serving.limits import CSP
from radarstream.pipelines.serving.people import Role, User
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.support import STATUS_RULE

HOME: Final = "/"
BELOW: Final = "/console/"
LONGEST_SEARCH: Final = 200
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
    problem: ServiceError | None = None,
    **values: Any,
) -> HTMLResponse:
    """Render a page that explains `words`; a `live` one is fetched anew for each event, and one
    with a `problem` says it and has its status.
    """
    problem = request.scope.get(REFUSED, problem)
    meanings = {term: MEANINGS[term] for term in words}
    text = frame.render_served(
        f"console/{template}",
        frame.Page(title, sentence, links, meanings, heads=heads, notes=notes),
        user=user,
        menu=[(path, name) for path, name, any_of in MENU if user and any_of & user.roles],
        here=request.url.path,
        live=live,
        problem=as_sentence(problem.message) if problem else "",
        link=link,
        asset=asset,
        roles=Role,
        **values,
    )
    status, headers = (problem.status, problem.headers) if problem else (status, {})
    return HTMLResponse(text.encode("utf-8", "replace"), status, headers=POLICY | headers)


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


Columns = Mapping[str, Callable[[Any], Any] | None]  # of a list, by heading


@dataclass(frozen=True, slots=True)
class Listing:
    """How a list is asked for: `columns` give what is searched and sorted of a row, None for what
    is not; `sort` is a column, with "-" before it the greatest first; `kept` are other parameters.
    """

    path: str
    columns: Columns
    numbers: frozenset[str]
    search: str
    sort: str
    number: int
    kept: Mapping[str, str]

    @staticmethod
    def of(
        request: Request,
        columns: Columns,
        numbers: Sequence[str] = (),
        kept: Sequence[str] = (),
    ) -> "Listing":
        """What a request asks for; nonsense is left out."""
        asked = request.query_params
        sort = asked.get("sort", "")
        known = columns.get(sort.removeprefix("-")) is not None
        others = {name: asked[name] for name in kept if asked.get(name)}
        search = asked.get("q", "")[:LONGEST_SEARCH].strip()
        return Listing(request.url.path, columns, frozenset(numbers), search, sort if known else "",
                       page_number(asked.get("page", "")), others)  # fmt: skip

    def page(self, rows: Sequence[Any]) -> dict[str, Any]:
        """The rows of the page that was asked for, searched and sorted, for a template."""
        keys = [key for key in self.columns.values() if key is not None]
        wanted = searchable(self.search)

        def matches(row: Any) -> bool:
            values = (key(row) for key in keys)
            return any(wanted in searchable(value) for value in values if isinstance(value, str))

        found = [row for row in rows if not wanted or matches(row)]
        if key := self.columns.get(self.sort.removeprefix("-")):
            known = [(key(row), row) for row in found]
            least = sorted(
                (one for one in known if one[0] is not None),
                key=lambda one: one[0].casefold() if isinstance(one[0], str) else one[0],
                reverse=self.sort.startswith("-"),
            )
            found = [row for _, row in (*least, *(one for one in known if one[0] is None))]
        paging = Paging(self.number, len(found))
        return {
            "rows": found[paging.offset : paging.last], "paging": paging, "listing": self
        }  # fmt: skip

    def link(self, **changed: object) -> str:
        """The address of this list with other parameters."""
        return link(self.path, "", **({**self.kept, "q": self.search, "sort": self.sort} | changed))


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
    "Status": f"what an answer rests on. {STATUS_RULE}"
}
