"""Users, tokens, sessions, and the log of what users did, on SQLite and PostgreSQL."""

from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select

from radarstream.connectors.state_table.database.tables import SESSIONS, USER_QUESTIONS, USERS
from radarstream.connectors.state_table.serving.accounts import StoredAccounts
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
from radarstream.schemas.users import Account, Role, UserTrust
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
    for nobodys in ("", "rs_", "x" * 10_000, "é", "\ud800", "' OR 1=1 --", "\0"):
        assert user_of_token(engine, nobodys) is None
        assert user_of_session(engine, nobodys, NOW) is None
    for unclear in ("", "a" * 101, "ada\u200b", "\u0430da", " ada"):  # or to be taken for another
        with pytest.raises(ConfigurationError, match="not a valid name"):
            add_user(engine, unclear, [Role.ASK], NOW)
    assert len(list_users(engine)) == 2


def test_a_name_in_other_cases_is_the_same_user(engine: Engine) -> None:
    token = add_user(engine, "Zo\u0065\u0308 Stra\u00dfe", [Role.ASK], NOW)
    for name in ("zo\u00eb strasse", "ZO\u00cb STRASSE"):
        with pytest.raises(StateConflictError):
            add_user(engine, name, [Role.ASK], NOW)
    set_roles(engine, "ZO\u00cb STRASSE", [Role.REPORT], NOW)
    revoke_user(engine, "zo\u00eb strasse", NOW)
    assert user_of_token(engine, token) is None


def test_a_rotated_token_and_a_revoked_user_are_refused(engine: Engine) -> None:
    old = add_user(engine, "ada", [Role.ASK], NOW)
    session = open_session(engine, "ada", now_ms=NOW, hours=1)
    token = rotate_token(engine, "ada", NOW)
    assert user_of_token(engine, old) is user_of_session(engine, session, NOW) is None
    assert user_of_token(engine, token) is not None
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


def test_the_action_log(engine: Engine) -> None:
    with pytest.raises(InterruptedError), engine.begin() as connection:
        write_action(connection, at_ms=NOW, user="ada", action="approve", target="\0\ud800")
        raise InterruptedError
    assert read_actions(engine) == []
    log_action(engine, at_ms=NOW, user="a\0", action="block", target="x" * 9_000, detail="\ud800")
    (logged,) = read_actions(engine)
    assert len(logged.target) == 2_000
    for number in range(5):
        who = "ada" if number % 2 else "bob"
        log_action(engine, at_ms=NOW + number, user=who, action="approve", target=f"i{number}")
    first = read_actions(engine, limit=2)
    assert [action.target for action in first] == ["i4", "i3"]
    assert [action.target for action in read_actions(engine, search="I2")] == ["i2"]
    assert read_actions(engine, search="%") == []
    assert [action.target for action in read_actions(engine, user="ada")] == ["i3", "i1"]


# --- trust, recent questions, spent epsilon -------------------------------------------------------


AT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR_MS = 3_600_000
THREADS = 8
ResultT = TypeVar("ResultT")


def test_trust_moves_along_the_path_of_the_paper_and_never_by_clocks() -> None:
    # .5 -(+.1, +.1)-> .7 -(-.1, -.1)-> .5 -(-.1, +.05)-> .45, where no cap holds.
    trust, path = UserTrust(), []
    for deltas in ((0.1, 0.1), (-0.1, -0.1), (-0.1, 0.05)):
        for delta in deltas:
            trust = trust.moved(delta, 0, 1.0)
        path.append(trust.value)
    assert path == pytest.approx([0.7, 0.5, 0.45])
    with pytest.raises(ValueError, match="nan"):
        UserTrust().moved(float("nan"), 0, 0.1)
    trust = UserTrust().moved(0.2, 10 * HOUR_MS, 0.1)
    for hours in (7, 10):
        trust = trust.moved(0.2, hours * HOUR_MS, 0.1)
    assert trust.value == pytest.approx(0.6)


@given(
    moves=st.lists(
        st.tuples(st.integers(0, 40 * 60_000), st.floats(-0.2, 0.2)), min_size=1, max_size=40
    ),
    cap=st.floats(0.0, 0.5),
)
def test_no_hour_allows_more_than_the_cap(moves: list[tuple[int, float]], cap: float) -> None:
    trust, at_ms = UserTrust(), 1_767_225_600_000
    gains: list[tuple[int, float]] = []
    for pause, delta in moves:
        at_ms += pause
        after = trust.moved(delta, at_ms, cap)
        assert 0.0 <= after.value <= 1.0
        assert (after.value - trust.value) * delta >= 0
        gains.append((at_ms, max(0.0, after.value - trust.value)))
        last_hour = sum(gain for when, gain in gains if when > at_ms - HOUR_MS)
        assert last_hour <= cap + 1e-9
        trust = after
    assert len(trust.gains) <= 61
    later = trust.moved(-0.3, at_ms, cap).moved(0.05, at_ms + HOUR_MS + 60_000, 0.05)
    assert later.value == pytest.approx(max(0.0, trust.value - 0.3) + 0.05)


def test_a_new_account_and_one_with_questions(engine: Engine) -> None:
    accounts = StoredAccounts(engine, gain_per_hour=0.1)
    assert accounts.account("ada") == Account()
    for minute in range(7):
        accounts.note_question("ada", f"question {minute} \0\ud800", AT + timedelta(minutes=minute))
    accounts.note_question("bob", "another", AT)
    assert accounts.move_trust("ada", -0.05, AT) == pytest.approx(0.45)
    told = accounts.account("ada")
    assert told.trust == pytest.approx(0.45)
    assert [question[:10] for _, question in told.recent] == [f"question {n}" for n in range(2, 7)]
    assert [when for when, _ in told.recent] == [AT + timedelta(minutes=n) for n in range(2, 7)]


@settings(max_examples=30, deadline=None)
@given(questions=st.integers(1, 30), epsilon=st.floats(0.01, 5.0))
def test_so_many_thresholds_as_the_budget_has(questions: int, epsilon: float) -> None:
    """Rounding neither takes one away nor gives one more."""
    accounts, budget = StoredAccounts.in_memory(), questions * epsilon
    told = [accounts.spend("ada", "docs", epsilon, budget) for _ in range(questions + 1)]
    assert told == [True] * questions + [False]
    assert accounts.spent("ada", "docs") == pytest.approx(budget)


def test_many_that_spend_move_trust_and_ask_at_once(engine: Engine) -> None:
    accounts = StoredAccounts(engine, 0.1)
    for epsilon in (-1.0, -0.0, 0.0, float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="positive, finite epsilon"):
            accounts.spend("ada", "docs", epsilon, 10.0)
    assert accounts.spent("ada", "docs") == 0.0
    accounts = StoredAccounts(engine, gain_per_hour=0.1)
    allowed = at_once(lambda _: accounts.spend("ada", "docs", 3.0, 15.0), THREADS)
    assert sum(allowed) == 5
    assert accounts.spent("ada", "docs") == pytest.approx(15.0)
    assert not accounts.spend("ada", "docs", 0.001, 15.0)
    assert accounts.spend("ada", "docs", 1.0, 16.0)  # the budget was raised
    assert accounts.spend("ada", "other", 15.0, 15.0)
    assert not accounts.spend("bob", "docs", 15.1, 15.0)
    assert accounts.spent("bob", "docs") == 0.0
    accounts = StoredAccounts(engine, gain_per_hour=0.1)
    at_once(lambda _: accounts.move_trust("ada", 0.02, AT), THREADS)
    assert accounts.account("ada").trust == pytest.approx(0.6)
    at_once(lambda _: accounts.move_trust("ada", -0.02, AT), THREADS)
    assert accounts.account("ada").trust == pytest.approx(0.6 - THREADS * 0.02)
    assert accounts.move_trust("ada", 0.1, AT + timedelta(minutes=59)) == pytest.approx(0.44)
    assert accounts.move_trust("ada", 0.1, AT + timedelta(minutes=61)) == pytest.approx(0.54)
    accounts = StoredAccounts(engine, gain_per_hour=0.1)
    at_once(lambda number: accounts.note_question("ada", f"q{number}", AT), THREADS)
    assert len(accounts.account("ada").recent) == 5
    accounts.note_question("ada", "last", AT + timedelta(seconds=1))
    with engine.connect() as connection:
        count = connection.execute(select(func.count()).select_from(USER_QUESTIONS)).scalar_one()
    assert count == 5
    assert accounts.account("ada").recent[-1][1] == "last"
    # What is asked after a clock was set back counts among the recent questions as before.
    for number in range(5):
        accounts.note_question("bob", f"ahead {number}", AT + timedelta(days=900))
    for number in range(2):
        accounts.note_question("bob", f"now {number}", AT)
    asked = [question for _, question in accounts.account("bob").recent]
    assert asked == ["ahead 2", "ahead 3", "ahead 4", "now 0", "now 1"]
