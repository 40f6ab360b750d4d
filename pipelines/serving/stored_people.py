"""Users and sessions in the state database."""

from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import Engine

from radarstream.connectors.state_table.serving import sessions, users
from radarstream.pipelines.serving.people import User
from radarstream.pipelines.settings.serving import ServingSettings
from radarstream.schemas.times import milliseconds
from radarstream.schemas.users import User as Known


@dataclass(frozen=True, slots=True)
class StoredPeople:
    """`People` of the tables. A session ends after `settings.session_hours`."""

    engine: Engine
    settings: ServingSettings

    def by_token(self, token: str) -> User | None:
        """The user whose token this is."""
        known = users.user_of_token(self.engine, token)
        return None if known is None else User(known.name, known.roles)

    def by_session(self, secret: str) -> User | None:
        """The user whose session this is; None for one that has ended."""
        session = sessions.find_session(self.engine, secret, now_ms())
        if session is None:
            return None
        return User(session.user.name, session.user.roles, secret)

    def open_session(self, user: User) -> User:
        """The user with a new session."""
        known = Known(user.name, user.roles)
        secret, _ = sessions.open_session(
            self.engine, known, now_ms=now_ms(), hours=self.settings.session_hours
        )
        return User(user.name, user.roles, secret)

    def close_session(self, secret: str) -> None:
        """End a session; one that has ended stays so."""
        sessions.end_session(self.engine, secret)


def now_ms() -> int:
    """The time in milliseconds since 1970."""
    return milliseconds(datetime.now(UTC))
