"""Who may use a route: bearer tokens for programs, session cookies for the console.

Every route takes a user, such as `MayAsk`, or declares `Depends(open_to_all)`. A change by cookie
must come from a page of this service, with the session's CSRF token as X-CSRF-Token or csrf.
"""

from secrets import compare_digest
from typing import Annotated, Final
from urllib.parse import parse_qsl, urlsplit

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from radarstream.pipelines.serving.context import Context
from radarstream.pipelines.serving.errors import ServiceError, too_many
from radarstream.pipelines.serving.people import Role, User, address_of, share_of
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.settings.job import host_and_port
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.section import is_loopback

COOKIE: Final = "radarstream_session"
CSRF_HEADER: Final = "X-CSRF-Token"
CSRF_FIELD: Final = "csrf"
FORM: Final = "application/x-www-form-urlencoded"
WITH_FILES: Final = "multipart/form-data"
MOST_FIELDS: Final = 20
SAFE: Final = frozenset(("GET", "HEAD", "OPTIONS"))
NOBODY: Final = User("", frozenset({Role.ASK}))
PLACE: Final = "radarstream.place"  # key of a scope: holds the request's place once it has one
KNOWN: Final = "radarstream.known"  # key of a scope: whether its user is known
REFUSED: Final = "radarstream.refused"  # key of a scope: why a form's body was not received
UNCOUNTED: Final = frozenset(("/healthz", "/readyz", "/metrics"))  # answered under any load
_bearer = HTTPBearer(auto_error=False, description="the token of a user")
Credentials = Annotated[HTTPAuthorizationCredentials | None, Security(_bearer)]


async def open_to_all() -> None:
    """Declare that a route needs no account."""


class SignedIn:
    """A dependency that yields the User if they have one of the roles, and holds a place for the
    request. Raises ServiceError 401, 403, 429 and 503.
    """

    def __init__(self, *roles: Role) -> None:
        self.roles = frozenset(roles)

    async def __call__(self, request: Request, _shown: Credentials = None) -> User:
        """The user of this request."""
        user = await user_of(request)
        if user is None:
            raise not_signed_in()
        if not self.roles & user.roles:
            names = " or ".join(sorted(repr(role.value) for role in self.roles))
            raise ServiceError(403, "role_missing", f"this needs the role {names}")
        take_place(request, user)
        return user


Reader = Annotated[User, Depends(SignedIn(*Role))]
MayAsk = Annotated[User, Depends(SignedIn(Role.ASK))]
MayReport = Annotated[User, Depends(SignedIn(Role.REPORT))]
Operator = Annotated[User, Depends(SignedIn(Role.OPERATE))]


def not_signed_in() -> ServiceError:
    """The refusal of a request without a token where one is needed."""
    return ServiceError(
        401,
        "not_signed_in",
        "this needs a token: Authorization: Bearer …; `radarstream users` makes one",
        headers={"WWW-Authenticate": 'Bearer realm="radarstream"'},
    )


async def user_of(request: Request) -> User | None:
    """Who makes a request; None for nobody known. Where anybody may ask, an unknown token is
    nobody's: OpenAI's clients always send one. Raises ServiceError 401, 403 or 429.
    """
    token, anybody = bearer_token(request), context_of(request).settings.serving.anonymous == "ask"
    if token is not None and not anybody:
        return await by_token(request, token)
    user = await known_by(request)
    by_cookie = user is not None and bool(user.session)
    if request.method not in SAFE and (by_cookie or user in (None, NOBODY)):
        refuse_foreign_origin(request)
        if user is not None and by_cookie:
            await insist_on_csrf(request, user)
    return user


def take_place(request: Request, user: User) -> None:
    """Hold a place for a known user's request until its end. Raises ServiceError 503."""
    scope = request.scope
    scope[KNOWN] = True
    if scope["path"] not in UNCOUNTED:
        places = request.app.state.context.places
        scope[PLACE].enter_context(places.taken(share_of(user.name, request)))


async def known_by(request: Request) -> User | None:
    """Whose token or session comes with a request, or nobody's where anybody may ask; the body is
    not read.
    """
    context = context_of(request)
    if (token := bearer_token(request)) and (user := await context.by_token(token)) is not None:
        return user
    session = request.cookies.get(COOKIE, "")
    user = await context.by_session(session) if session else None
    return NOBODY if user is None and context.settings.serving.anonymous == "ask" else user


async def by_token(request: Request, token: str) -> User:
    """The user of a token. Raises ServiceError 401, and 429 after too many wrong ones, which shut
    out nobody whose token is right.
    """
    context = context_of(request)
    user = await context.by_token(token) if token else None
    if user is None:
        if wait := context.failures.take(address_of(request)):
            raise too_many("too many wrong tokens from this address", wait)
        raise ServiceError(
            401,
            "invalid_api_key",
            "the token is not known",
            headers={"WWW-Authenticate": 'Bearer realm="radarstream", error="invalid_token"'},
        )
    return user


def bearer_token(request: Request) -> str | None:
    """The token of the header Authorization; "" for one of another scheme, None without."""
    header = request.headers.get("Authorization")
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def refuse_foreign_origin(request: Request) -> None:
    """Raise ServiceError 403 for a request that a page of another site made a browser send."""
    origin = request.headers.get("Origin")
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    own = origin is None or urlsplit(origin).netloc == request.headers.get("Host", "")
    if not own or (origin is None and site not in ("same-origin", "none")):
        raise ServiceError(403, "foreign_origin", "this comes from a page of another site")


async def insist_on_csrf(request: Request, user: User) -> None:
    """Raise ServiceError 403 unless the request has the CSRF token of the user's session."""
    given = request.headers.get(CSRF_HEADER, "")
    if not given and request.headers.get("Content-Type", "").startswith((FORM, WITH_FILES)):
        given = (await form_of(request)).get(CSRF_FIELD, "")
    if not compare_digest(given.encode(), user.csrf.encode()):
        raise ServiceError(403, "csrf", "the page is out of date: load it again")


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form without its files, the last of each name. Raises ServiceError 400,
    415.
    """
    if request.headers.get("Content-Type", "").startswith(WITH_FILES):
        return {name: text for name, text in await _parts_of(request) if isinstance(text, str)}
    if not request.headers.get("Content-Type", "").startswith(FORM):
        raise ServiceError(415, "invalid_request", "this takes a form")
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise ServiceError(400, "invalid_request", "the form has too many fields") from None


async def files_of(request: Request) -> list[UploadFile]:
    """The files of a form, also empty ones; a field without a file has no name. Raises ServiceError
    400.
    """
    if not request.headers.get("Content-Type", "").startswith(WITH_FILES):
        return []
    parts = await _parts_of(request)
    return [file for _, file in parts if not isinstance(file, str) and file.filename]


async def _parts_of(request: Request) -> list[tuple[str, str | UploadFile]]:
    """Fields and files of a form with files, which stay in memory. Raises ServiceError 400."""
    body, most = await request.body(), context_of(request).settings.serving.upload_bytes
    parser = MultiPartParser(
        request.headers,
        request.stream(),
        max_files=MOST_FIELDS,
        max_fields=MOST_FIELDS,
        max_part_size=len(body),
    )
    parser.spool_max_size = most + 1
    try:
        return (await parser.parse()).multi_items()
    except MultiPartException as error:
        raise ServiceError(400, "invalid_request", error.message) from None


Form = Annotated[dict[str, str], Depends(form_of)]


def context_of(request: Request) -> Context:
    """The context of the app that a request came to."""
    context = request.app.state.context
    assert isinstance(context, Context)  # noqa: S101 for the type checker
    return context


def check_serving(settings: Settings) -> None:
    """Raise ConfigurationError where anybody on a network could ask without a token."""
    serving = settings.serving
    if serving.anonymous == "refuse":
        return
    host, _ = host_and_port(serving.listen)
    if not is_loopback(host) or serving.proxies:
        raise ConfigurationError(
            "serving.anonymous = 'ask' is for a loopback address without a proxy: listen on"
            " 127.0.0.1, or give each user a token (`radarstream users`)"
        )
