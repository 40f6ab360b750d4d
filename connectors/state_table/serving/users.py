"""Users, their tokens, and sessions of the console. Only SHA-256 of tokens and cookies are stored.

Both have 256 random bits, so that a hash needs no salt or cost, and a look-up by hash takes the
same time for every wrong one. Callers pass the times, in milliseconds since 1970.
"""

from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_urlsafe
from typing import Final

from sqlalchemy import ColumnElement, Connection, Engine, Row, delete, insert, select, update

from radarstream.connectors.state_table.database import statements as db
from radarstream.connectors.state_table.database.tables import SESSIONS, USERS
from radarstream.schemas.errors import ConfigurationError, NotFoundError, StateConflictError
from radarstream.schemas.names import flaw_of
from radarstream.schemas.users import LONGEST_NAME, Role, user_name

PREFIX: Final = "rs_"
TOKEN_BYTES: Final = 32
LONGEST_TOKEN: Final = 200  # characters; no longer token is valid
_S, _U = SESSIONS.c, USERS.c
COLUMNS: Final = (_U.name, _U.roles, _U.created_ms, _U.revoked_ms)


@dataclass(frozen=True, slots=True)
class StoredUser:
    """A user; times are in milliseconds since 1970. `revoked_ms` is None for an active user."""

    name: str
    roles: frozenset[Role]
    created_ms: int
    revoked_ms: int | None = None


def add_user(engine: Engine, name: str, roles: Collection[Role], now_ms: int) -> str:
    """Store a user and return the new token, which cannot be read again.

    A revoked user gets a new token, and keeps trust and spent epsilon. Raises ConfigurationError
    without a role, or for a name that could be mistaken for another one, StateConflictError if the
    user exists.
    """
    name, token = checked_name(name), _new_token()
    given = {"token_hash": hash_of(token), "roles": _written(roles), "changed_ms": now_ms}
    row = {**given, "name": name, "created_ms": now_ms}
    again = {**given, "revoked_ms": None}
    if db.put(engine, USERS, row, changed=again, only_if=_U.revoked_ms.is_not(None)) != 1:
        error = StateConflictError(f"there is a user {name!r} already")
        raise error.mended_by(f"`radarstream users rotate {name}` prints a new token")
    return token


def rotate_token(engine: Engine, name: str, now_ms: int) -> str:
    """Give a user a new token, and end the old one and all sessions. Raises NotFoundError."""
    token = _new_token()
    _change(engine, name, now_ms, token_hash=hash_of(token))
    return token


def revoke_user(engine: Engine, name: str, now_ms: int) -> None:
    """End a user's token and sessions. Raises NotFoundError."""
    _change(engine, name, now_ms, revoked_ms=now_ms)


def set_roles(engine: Engine, name: str, roles: Collection[Role], now_ms: int) -> None:
    """Replace the roles of a user, also in open sessions.

    Raises NotFoundError, and ConfigurationError without a role.
    """
    known = (_U.name == user_name(name), _U.revoked_ms.is_(None))
    new = {"roles": _written(roles), "changed_ms": now_ms}
    if db.write(engine, update(USERS).where(*known).values(new)) != 1:
        raise _unknown(name)


def list_users(engine: Engine) -> list[StoredUser]:
    """Return all users by name, also revoked ones."""
    return [user_in(row) for row in db.fetch(engine, select(*COLUMNS).order_by(_U.name))]


def user_of_token(engine: Engine, token: str) -> StoredUser | None:
    """Return the user of a token; None for an invalid one or a revoked user."""
    if not token.isascii() or len(token) > LONGEST_TOKEN:
        return None
    return _found(engine, _U.token_hash == hash_of(token))


def open_session(engine: Engine, user: str, *, now_ms: int, hours: float) -> str:
    """Open a session and return the id for the cookie. Expired sessions are deleted."""
    secret = token_urlsafe(TOKEN_BYTES)
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
    """Return the user of an open session, with present roles; None if there is none."""
    statement = (
        select(*COLUMNS)
        .join_from(SESSIONS, USERS, _S.user_name == _U.name)
        .where(_S.id_hash == hash_of(secret), _S.expires_ms > now_ms, _U.revoked_ms.is_(None))
    )
    rows = db.fetch(engine, statement)
    return user_in(rows[0]) if rows else None


def end_session(engine: Engine, secret: str) -> None:
    """End a session."""
    db.write(engine, delete(SESSIONS).where(_S.id_hash == hash_of(secret)))


def checked_name(name: str) -> str:
    """Normalise a user's name. Raises ConfigurationError by the rules for senders."""
    flaw = flaw_of(name) if 0 < len(name) <= LONGEST_NAME else "no letters, or too many"
    if flaw:
        error = ConfigurationError(f"{name!r} is not a valid name for a user: {flaw}")
        raise error.mended_by("letters of one script, single blanks between words")
    return user_name(name)


def hash_of(secret: str) -> bytes:
    """Return the stored hash of a token or of a session's id: 32 bytes."""
    return sha256(secret.encode("utf-8", "surrogatepass")).digest()


def user_in(row: "Row[str, str, int, int | None]") -> StoredUser:
    """Read a user from a row of COLUMNS, without unknown roles of a later release."""
    name, words, created_ms, revoked_ms = row
    roles = frozenset(role for role in Role if role in words.split())
    return StoredUser(name, roles, created_ms, revoked_ms)


def _change(engine: Engine, name: str, now_ms: int, **values: object) -> None:
    name = user_name(name)
    known = (_U.name == name, _U.revoked_ms.is_(None))
    new = {**values, "changed_ms": now_ms}

    def change(connection: Connection) -> int:
        changed = connection.execute(update(USERS).where(*known).values(new)).rowcount
        connection.execute(delete(SESSIONS).where(_S.user_name == name))
        return changed

    if db.in_transaction(engine, change) != 1:
        raise _unknown(name)


def _found(engine: Engine, condition: ColumnElement[bool]) -> StoredUser | None:
    rows = db.fetch(engine, select(*COLUMNS).where(_U.revoked_ms.is_(None), condition))
    return user_in(rows[0]) if rows else None


def _written(roles: Collection[Role]) -> str:
    if not roles:
        raise ConfigurationError(f"a user needs a role: {', '.join(Role)}")
    return " ".join(role for role in Role if role in roles)


def _new_token() -> str:
    return PREFIX + token_urlsafe(TOKEN_BYTES)


def _unknown(name: str) -> NotFoundError:
    return NotFoundError(f"there is no user {name!r}, or it was revoked").mended_by(
        "radarstream users list"
    )
