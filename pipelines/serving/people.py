"""Who the users of the service are, and what they may do."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from time import monotonic
from typing import Final

from fastapi import Request
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool

from radarstream.connectors.state_table.serving import users
from radarstream.connectors.state_table.serving.users import StoredUser
from radarstream.schemas.times import now_ms
from radarstream.schemas.users import Role

__all__ = ["People", "Remembered", "Role", "User", "address_of", "share_of"]
REMEMBERED_S: Final = 2.0  # how long a revoked token may still work in a process
REMEMBERED: Final = 10_000


@dataclass(frozen=True, slots=True)
class User:
    """Who makes a request: "" for nobody; `session` is a browser's secret, "" for a token."""

    name: str
    roles: frozenset[Role]
    session: str = ""

    @property
    def csrf(self) -> str:
        """What a page sends back with an action, so that no other site can act; "" for a token."""
        return sha256(f"csrf:{self.session}".encode()).hexdigest() if self.session else ""


def address_of(request: Request) -> str:
    """The address that a request came from; "" where it is not known."""
    return request.client.host if request.client else ""


def share_of(user: str, request: Request | None) -> str:
    """Whose share of places, rates and turns a request takes: a user's, else an address's."""
    return f"user {user}" if user else f"address {address_of(request) if request else ''}"


@dataclass(frozen=True)
class People:
    """Users, tokens and sessions in the state database; safe for threads."""

    engine: Engine
    session_hours: float

    def by_token(self, token: str) -> User | None:
        """The user whose token this is."""
        return known(users.user_of_token(self.engine, token))

    def by_session(self, secret: str) -> User | None:
        """The user whose session this is; None for one that has ended."""
        return known(users.user_of_session(self.engine, secret, now_ms()), secret)

    def open_session(self, user: User) -> User:
        """The user with a new session."""
        hours, now = self.session_hours, now_ms()
        secret = users.open_session(self.engine, user.name, now_ms=now, hours=hours)
        return replace(user, session=secret)

    def close_session(self, secret: str) -> None:
        """End a session; one that has ended stays so."""
        users.end_session(self.engine, secret)


def known(stored: StoredUser | None, session: str = "") -> User | None:
    """A stored user as the service knows them."""
    return None if stored is None else User(stored.name, stored.roles, session)


class Remembered:
    """Looks up a user off the event loop, and remembers for REMEMBERED_S seconds who was found."""

    def __init__(self, look: Callable[[str], User | None], now: Callable[[], float] = monotonic):
        self._look, self._now = look, now
        self._known: dict[bytes, tuple[float, User]] = {}

    async def __call__(self, secret: str) -> User | None:
        """The user, None for nobody."""
        key = users.hash_of(secret)
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

    def forget(self, secret: str) -> None:
        """Look again the next time."""
        self._known.pop(users.hash_of(secret), None)
