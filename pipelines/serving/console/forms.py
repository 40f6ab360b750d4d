"""Forms that a browser sends, and who may open a page."""

from collections.abc import Iterator, Set
from contextlib import contextmanager
from typing import Annotated, Final
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from radarstream.pipelines.serving.access import Credentials, SignedIn, user_of
from radarstream.pipelines.serving.console.showing import READERS
from radarstream.pipelines.serving.errors import ServiceError
from radarstream.pipelines.serving.limits import take_place
from radarstream.pipelines.serving.people import Role, User
from radarstream.schemas.errors import ConfigurationError

MOST_FIELDS: Final = 20
FORM: Final = "application/x-www-form-urlencoded"


@contextmanager
def understood() -> Iterator[None]:
    """Say in its own words what cannot be made of an address. Raises ServiceError 400."""
    try:
        yield
    except ConfigurationError as error:
        raise ServiceError(400, "invalid_value", str(error)) from None


class Visitor(SignedIn):
    """A dependency that yields the User if they have one of several roles. Raises ServiceError."""

    def __init__(self, roles: Set[Role]) -> None:
        super().__init__(next(iter(roles)))
        self.roles = frozenset(roles)

    async def __call__(self, request: Request, _shown: Credentials = None) -> User:
        """The user of this request."""
        user = await user_of(request)
        if user is None:
            raise ServiceError(401, "not_signed_in", "sign in first")
        if not self.roles & user.roles:
            names = " or ".join(sorted(self.roles))
            raise ServiceError(403, "role_missing", f"this needs the role {names}")
        take_place(request, user)
        return user


Reader = Annotated[User, Depends(Visitor(READERS))]
MayAsk = Annotated[User, Depends(Visitor({Role.ASK}))]
MayReport = Annotated[User, Depends(Visitor({Role.REPORT}))]
Operator = Annotated[User, Depends(Visitor({Role.OPERATE}))]


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form, the last of each name. Raises ServiceError 400, 415."""
    if not request.headers.get("Content-Type", "").startswith(FORM):
        raise ServiceError(415, "invalid_request", "this takes a form")
    body = (await request.body()).decode("utf-8", "replace")
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise ServiceError(400, "invalid_request", "the form has too many fields") from None


Form = Annotated[dict[str, str], Depends(form_of)]
