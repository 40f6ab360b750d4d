"""Who the users of the service are, and what they may do."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from time import monotonic
from typing import Final, Protocol

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from radarstream.schemas.users import Role

__all__ = ["People", "Remembered", "Role", "User", "address_of", "share_of"]
REMEMBERED_S: Final = 2.0  # how long a revoked token may still work in a process
REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class User:
    """Who makes a request. `name` is "" for nobody; `session` is the secret of a browser's session,
    "" for a bearer token.
    """

    name: str
    roles: frozenset[Role]
    session: str = ""

    @property
    def csrf(self) -> str:
        """What a page must send back with an action, so that no other site can act; "" without a
        session.
        """
        return sha256(f"csrf:{self.session}".encode()).hexdigest() if self.session else ""


def address_of(request: Request) -> str:
    """The address that a request came from; "" where it is not known."""
    return request.client.host if request.client else ""


def share_of(user: str, request: Request | None) -> str:
    """Whose share of places, rates and turns a request takes: a user's, else an address's."""
    return f"user {user}" if user else f"address {address_of(request) if request else ''}"


class People(Protocol):
    """Where users, tokens and sessions are kept. Its methods may block; safe for threads."""

    def by_token(self, token: str) -> User | None:
        """The user whose token this is."""
        ...

    def by_session(self, secret: str) -> User | None:
        """The user whose session this is; None for one that has ended."""
        ...

    def open_session(self, user: User) -> User:
        """The user with a new session."""
        ...

    def close_session(self, secret: str) -> None:
        """End a session; one that has ended stays so."""
        ...


class Remembered:
    """Looks up a user off the event loop, and remembers for REMEMBERED_S seconds who was found."""

    def __init__(self, look: Callable[[str], User | None], now: Callable[[], float] = monotonic):
        self._look, self._now = look, now
        self._known: dict[bytes, tuple[float, User]] = {}

    async def __call__(self, secret: str) -> User | None:
        """The user, None for nobody."""
        key = sha256(secret.encode("utf-8", "surrogatepass")).digest()
        until, user = self._known.get(key, (0.0, None))
        if user is not None and self._now() < until:
            return user
        found = await run_in_threadpool(self._look, secret)
        self._known.pop(key, None)
        if found is not None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[key] = (self._now() + REMEMBERED_S, found)
        return found

    def knew(self, secret: str) -> bool:
        """Whether the last look with this secret found somebody, as far as is remembered."""
        return sha256(secret.encode("utf-8", "surrogatepass")).digest() in self._known

    def forget(self, secret: str) -> None:
        """Look again the next time."""
        self._known.pop(sha256(secret.encode("utf-8", "surrogatepass")).digest(), None)
