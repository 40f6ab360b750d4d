"""Users and sessions in the state database."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Engine

from radarstream.connectors.state_table.serving import sessions, users
from radarstream.connectors.state_table.serving.users import StoredUser
from radarstream.pipelines.serving.people import User
from radarstream.pipelines.settings.serving import ServingSettings
from radarstream.schemas.times import milliseconds


@dataclass(frozen=True)
class StoredPeople:
    """`People` of the tables. A session ends after `settings.session_hours`."""

    engine: Engine
    settings: ServingSettings

    def by_token(self, token: str) -> User | None:
        """The user whose token this is."""
        return known(users.user_of_token(self.engine, token))

    def by_session(self, secret: str) -> User | None:
        """The user whose session this is; None for one that has ended."""
        return known(sessions.user_of_session(self.engine, secret, now_ms()), secret)

    def open_session(self, user: User) -> User:
        """The user with a new session."""
        hours = self.settings.session_hours
        secret = sessions.open_session(self.engine, user.name, now_ms=now_ms(), hours=hours)
        return replace(user, session=secret)

    def close_session(self, secret: str) -> None:
        """End a session; one that has ended stays so."""
        sessions.end_session(self.engine, secret)


def known(stored: StoredUser | None, session: str = "") -> User | None:
    """A stored user as the service knows them."""
    return None if stored is None else User(stored.name, stored.roles, session)


def now_ms() -> int:
    """The present time in milliseconds since 1970."""
    return milliseconds(datetime.now(UTC))
