"""Sessions of the console: a random id in a cookie, of which the hash is stored.

Times are milliseconds since 1970 and come from the caller.
"""

from dataclasses import dataclass
from secrets import token_urlsafe

from sqlalchemy import Connection, Engine, delete, insert, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.service_tables import SESSIONS, USERS
from radarstream.connectors.state_table.serving.users import hash_of, roles_in
from radarstream.schemas.users import User

_S, _U = SESSIONS.c, USERS.c
SECRET_BYTES = 32


@dataclass(frozen=True, slots=True)
class Session:
    """Who is signed in. `csrf` is what every form of the session must bring along."""

    user: User
    csrf: str
    expires_ms: int


def open_session(engine: Engine, user: User, *, now_ms: int, hours: float) -> tuple[str, Session]:
    """Sign a user in; return the id for the cookie, and the session. Sessions past are deleted."""
    secret, csrf = token_urlsafe(SECRET_BYTES), token_urlsafe(SECRET_BYTES)
    session = Session(user, csrf, now_ms + int(hours * 3_600_000))
    row = {
        "id_hash": hash_of(secret),
        "user_name": user.name,
        "csrf": csrf,
        "expires_ms": session.expires_ms,
    }

    def write(connection: Connection) -> None:
        connection.execute(delete(SESSIONS).where(_S.expires_ms <= now_ms))
        connection.execute(insert(SESSIONS), row)

    db.in_transaction(engine, write)
    return secret, session


def find_session(engine: Engine, secret: str, now_ms: int) -> Session | None:
    """Return a session that goes on, with the roles that its user has now; None without one."""
    statement = (
        select(_U.name, _U.roles, _S.csrf, _S.expires_ms)
        .join_from(SESSIONS, USERS, _S.user_name == _U.name)
        .where(_S.id_hash == hash_of(secret), _S.expires_ms > now_ms, _U.revoked_ms.is_(None))
    )
    rows = db.fetch(engine, statement)
    if not rows:
        return None
    name, roles, csrf, expires_ms = rows[0]
    return Session(User(name, roles_in(roles)), csrf, expires_ms)


def end_session(engine: Engine, secret: str) -> None:
    """Sign out."""
    db.write(engine, delete(SESSIONS).where(_S.id_hash == hash_of(secret)))
