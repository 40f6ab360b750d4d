"""Users, tokens, sessions, and the log of what users did, on SQLite and PostgreSQL."""

import pytest
from sqlalchemy import Engine, select

from radarstream.connectors.state_table.database.tables import SESSIONS, USERS
from radarstream.connectors.state_table.serving.action_log import (
    log_action,
    read_actions,
    write_action,
)
from radarstream.connectors.state_table.serving.users import (
    add_user,
    end_session,
    list_users,
    open_session,
    revoke_user,
    rotate_token,
    set_roles,
    user_of_session,
    user_of_token,
)
from radarstream.schemas.errors import ConfigurationError, NotFoundError, StateConflictError
from radarstream.schemas.users import Role
from tests.clocks import at_once

NOW = 1_767_225_600_000
HOUR = 3_600_000


def test_a_token_stands_for_its_user_and_is_not_stored(engine: Engine) -> None:
    token = add_user(engine, "ada", [Role.REPORT, Role.ASK], NOW)
    other = add_user(engine, "bob", [Role.OPERATE], NOW)
    assert token != other
    ada = user_of_token(engine, token)
    assert (ada.name, ada.roles) == ("ada", {Role.ASK, Role.REPORT})
    assert [user.name for user in list_users(engine)] == ["ada", "bob"]
    with engine.connect() as connection:
        rows = repr(connection.execute(select(USERS)).all())
    assert token not in rows
    assert token.removeprefix("rs_") not in rows


def test_a_name_in_other_cases_is_the_same_user(engine: Engine) -> None:
    token = add_user(engine, "Zo\u0065\u0308 Stra\u00dfe", [Role.ASK], NOW)
    for name in ("zo\u00eb strasse", "ZO\u00cb STRASSE"):
        with pytest.raises(StateConflictError):
            add_user(engine, name, [Role.ASK], NOW)
    set_roles(engine, "ZO\u00cb STRASSE", [Role.REPORT], NOW)
    revoke_user(engine, "zo\u00eb strasse", NOW)
    assert user_of_token(engine, token) is None


def test_what_is_nobodys_token(engine: Engine) -> None:
    add_user(engine, "ada", [Role.ASK], NOW)
    for token in ("", "rs_", "x" * 10_000, "é", "\ud800", "' OR 1=1 --", "\0"):
        assert user_of_token(engine, token) is None
        assert user_of_session(engine, token, NOW) is None


def test_a_rotated_token_ends_the_old_one_and_its_sessions(engine: Engine) -> None:
    old = add_user(engine, "ada", [Role.ASK], NOW)
    session = open_session(engine, "ada", now_ms=NOW, hours=1)
    new = rotate_token(engine, "ada", NOW)
    assert user_of_token(engine, old) is None
    assert user_of_session(engine, session, NOW) is None
    assert user_of_token(engine, new) is not None


def test_a_revoked_user_comes_in_no_more_until_added_again(engine: Engine) -> None:
    token = add_user(engine, "ada", [Role.ASK], NOW)
    session = open_session(engine, "ada", now_ms=NOW, hours=1)
    revoke_user(engine, "ada", NOW + 5)
    assert user_of_token(engine, token) is None
    assert user_of_session(engine, session, NOW) is None
    assert [user.revoked_ms for user in list_users(engine)] == [NOW + 5]
    for change in (rotate_token, revoke_user):
        with pytest.raises(NotFoundError):
            change(engine, "ada", NOW)
    again = add_user(engine, "ada", [Role.REPORT], NOW + 9)
    assert user_of_token(engine, token) is None
    back = user_of_token(engine, again)
    assert back.roles == {Role.REPORT}


def test_roles_change_at_once(engine: Engine) -> None:
    add_user(engine, "ada", [Role.ASK], NOW)
    session = open_session(engine, "ada", now_ms=NOW, hours=1)
    set_roles(engine, "ada", [Role.OPERATE], NOW)
    ada = user_of_session(engine, session, NOW)
    assert ada.roles == {Role.OPERATE}
    with pytest.raises(ConfigurationError, match="role"):
        set_roles(engine, "ada", [], NOW)
    with pytest.raises(NotFoundError):
        set_roles(engine, "nobody", [Role.ASK], NOW)


def test_names_that_could_be_taken_for_others(engine: Engine) -> None:
    for name in ("", "a" * 101, "ada\u200b", "\u0430da", " ada"):
        with pytest.raises(ConfigurationError, match="no name"):
            add_user(engine, name, [Role.ASK], NOW)
    assert list_users(engine) == []


def test_of_many_that_add_a_name_one_gets_a_token(engine: Engine) -> None:
    def add(_: int) -> str | None:
        try:
            return add_user(engine, "ada", [Role.ASK], NOW)
        except StateConflictError:
            return None

    tokens = [token for token in at_once(add, 6) if token]
    assert len(tokens) == 1
    assert user_of_token(engine, tokens[0]) is not None


def test_sessions_end_by_time_and_by_signing_out(engine: Engine) -> None:
    add_user(engine, "ada", [Role.ASK], NOW)
    first = open_session(engine, "ada", now_ms=NOW, hours=1)
    second = open_session(engine, "ada", now_ms=NOW, hours=2)
    assert user_of_session(engine, first, NOW + HOUR - 1) is not None
    assert user_of_session(engine, first, NOW + HOUR) is None
    end_session(engine, second)
    assert user_of_session(engine, second, NOW) is None
    open_session(engine, "ada", now_ms=NOW + HOUR, hours=1)
    with engine.connect() as connection:
        assert len(connection.execute(select(SESSIONS)).all()) == 1  # expired ones are deleted


def test_the_action_log_is_read_backwards_in_pages(engine: Engine) -> None:
    for number in range(5):
        who = "ada" if number % 2 else "bob"
        log_action(engine, at_ms=NOW + number, user=who, action="approve", target=f"i{number}")
    first = read_actions(engine, limit=2)
    assert [action.target for action in first] == ["i4", "i3"]
    rest = read_actions(engine, before=first[-1].seq)
    assert [action.target for action in rest] == ["i2", "i1", "i0"]
    assert [action.target for action in read_actions(engine, user="ada")] == ["i3", "i1"]


def test_an_action_that_fails_is_not_in_the_log(engine: Engine) -> None:
    with pytest.raises(InterruptedError), engine.begin() as connection:
        write_action(connection, at_ms=NOW, user="ada", action="approve", target="\0\ud800")
        raise InterruptedError
    assert read_actions(engine) == []
    log_action(engine, at_ms=NOW, user="a\0", action="block", target="x" * 9_000, detail="\ud800")
    (logged,) = read_actions(engine)
    assert len(logged.target) == 2_000
