"""Sessions of the console: a random id in a cookie, of which the hash is stored.

Times are milliseconds since 1970 and come from the caller.
"""

from secrets import token_urlsafe
from typing import Final

from sqlalchemy import Connection, Engine, delete, insert, select

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.service_tables import SESSIONS, USERS
from radarstream.connectors.state_table.serving.users import (
    COLUMNS,
    StoredUser,
    hash_of,
    user_in,
)

SECRET_BYTES: Final = 32
_S, _U = SESSIONS.c, USERS.c


def open_session(engine: Engine, user: str, *, now_ms: int, hours: float) -> str:
    """Sign a user in and return the id for the cookie. Sessions that have expired are deleted."""
    secret = token_urlsafe(SECRET_BYTES)
    row = {
        "id_hash": hash_of(secret),
        "user_name": user,
        "expires_ms": now_ms + int(hours * 3_600_000),
    }

    def write(connection: Connection) -> None:
        connection.execute(delete(SESSIONS).where(_S.expires_ms <= now_ms))
        connection.execute(insert(SESSIONS), row)

    db.in_transaction(engine, write)
    return secret


def user_of_session(engine: Engine, secret: str, now_ms: int) -> StoredUser | None:
    """Return whose session goes on, with the roles that the user has now; None for nobody's."""
    statement = (
        select(*COLUMNS)
        .join_from(SESSIONS, USERS, _S.user_name == _U.name)
        .where(_S.id_hash == hash_of(secret), _S.expires_ms > now_ms, _U.revoked_ms.is_(None))
    )
    rows = db.fetch(engine, statement)
    return user_in(rows[0]) if rows else None


def end_session(engine: Engine, secret: str) -> None:
    """Sign out."""
    db.write(engine, delete(SESSIONS).where(_S.id_hash == hash_of(secret)))
