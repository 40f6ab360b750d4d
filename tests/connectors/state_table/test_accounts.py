"""Trust, recent questions, spent epsilon: no gain above the cap, nothing lost when many write."""

from datetime import UTC, datetime, timedelta
from typing import TypeVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine, func, select

from radarstream.connectors.state_table.database.tables import USER_QUESTIONS
from radarstream.connectors.state_table.serving.accounts import StoredAccounts
from radarstream.schemas.users import Account, UserTrust
from tests.clocks import at_once

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HOUR_MS = 3_600_000
THREADS = 8
ResultT = TypeVar("ResultT")


def test_the_path_of_trust_in_the_paper() -> None:
    """.5 -(+.1, +.1)-> .7 -(-.1, -.1)-> .5 -(-.1, +.05)-> .45, where no cap holds."""
    trust, path = UserTrust(), []
    for deltas in ((0.1, 0.1), (-0.1, -0.1), (-0.1, 0.05)):
        for delta in deltas:
            trust = trust.moved(delta, 0, 1.0)
        path.append(trust.value)
    assert path == pytest.approx([0.7, 0.5, 0.45])


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


def test_trust_moves_by_numbers_alone() -> None:
    with pytest.raises(ValueError, match="nan"):
        UserTrust().moved(float("nan"), 0, 0.1)


def test_a_new_account_and_one_with_questions(engine: Engine) -> None:
    accounts = StoredAccounts(engine, gain_per_hour=0.1)
    assert accounts.account("ada") == Account()
    for minute in range(7):
        accounts.note_question(
            "ada", f"question {minute} \0\ud800", NOW + timedelta(minutes=minute)
        )
    accounts.note_question("bob", "another", NOW)
    assert accounts.move_trust("ada", -0.05, NOW) == pytest.approx(0.45)
    told = accounts.account("ada")
    assert told.trust == pytest.approx(0.45)
    assert [question[:10] for _, question in told.recent] == [f"question {n}" for n in range(2, 7)]
    assert [when for when, _ in told.recent] == [NOW + timedelta(minutes=n) for n in range(2, 7)]


def test_the_cap_holds_for_many_at_once(engine: Engine) -> None:
    accounts = StoredAccounts(engine, gain_per_hour=0.1)
    at_once(lambda _: accounts.move_trust("ada", 0.02, NOW), THREADS)
    assert accounts.account("ada").trust == pytest.approx(0.6)
    at_once(lambda _: accounts.move_trust("ada", -0.02, NOW), THREADS)
    assert accounts.account("ada").trust == pytest.approx(0.6 - THREADS * 0.02)
    assert accounts.move_trust("ada", 0.1, NOW + timedelta(minutes=59)) == pytest.approx(0.44)
    assert accounts.move_trust("ada", 0.1, NOW + timedelta(minutes=61)) == pytest.approx(0.54)


def test_of_many_that_spend_at_once_all_are_counted(engine: Engine) -> None:
    accounts = StoredAccounts(engine, gain_per_hour=0.1)
    allowed = at_once(lambda _: accounts.spend("ada", "docs", 3.0, 15.0), THREADS)
    assert sum(allowed) == 5
    assert accounts.spent("ada", "docs") == pytest.approx(15.0)
    assert not accounts.spend("ada", "docs", 0.001, 15.0)
    assert accounts.spend("ada", "docs", 1.0, 16.0)  # the budget was raised
    assert accounts.spend("ada", "other", 15.0, 15.0)
    assert not accounts.spend("bob", "docs", 15.1, 15.0)
    assert accounts.spent("bob", "docs") == 0.0


@settings(max_examples=30, deadline=None)
@given(questions=st.integers(1, 30), epsilon=st.floats(0.01, 5.0))
def test_so_many_thresholds_as_the_budget_has(questions: int, epsilon: float) -> None:
    """Rounding neither takes one away nor gives one more."""
    accounts, budget = StoredAccounts.in_memory(), questions * epsilon
    told = [accounts.spend("ada", "docs", epsilon, budget) for _ in range(questions + 1)]
    assert told == [True] * questions + [False]
    assert accounts.spent("ada", "docs") == pytest.approx(budget)


def test_what_no_threshold_costs_is_refused(engine: Engine) -> None:
    accounts = StoredAccounts(engine, 0.1)
    for epsilon in (-1.0, -0.0, 0.0, float("nan"), float("inf"), -float("inf")):
        with pytest.raises(ValueError, match="positive, finite epsilon"):
            accounts.spend("ada", "docs", epsilon, 10.0)
    assert accounts.spent("ada", "docs") == 0.0


def test_questions_noted_at_once(engine: Engine) -> None:
    accounts = StoredAccounts(engine, gain_per_hour=0.1)
    at_once(lambda number: accounts.note_question("ada", f"q{number}", NOW), THREADS)
    assert len(accounts.account("ada").recent) == 5
    accounts.note_question("ada", "last", NOW + timedelta(seconds=1))
    with engine.connect() as connection:
        count = connection.execute(select(func.count()).select_from(USER_QUESTIONS)).scalar_one()
    assert count == 5
    assert accounts.account("ada").recent[-1][1] == "last"


def test_a_clock_that_was_ahead_hides_no_question(engine: Engine) -> None:
    """What is asked after a clock was set back counts among the recent questions as before."""
    accounts = StoredAccounts(engine, 0.1)
    for number in range(5):
        accounts.note_question("ada", f"ahead {number}", NOW + timedelta(days=900))
    for number in range(2):
        accounts.note_question("ada", f"now {number}", NOW)
    asked = [question for _, question in accounts.account("ada").recent]
    assert asked == ["ahead 2", "ahead 3", "ahead 4", "now 0", "now 1"]


def test_a_clock_that_goes_back_allows_nothing_more() -> None:
    trust = UserTrust().moved(0.2, 10 * HOUR_MS, 0.1)
    for hours in (7, 10):
        trust = trust.moved(0.2, hours * HOUR_MS, 0.1)
    assert trust.value == pytest.approx(0.6)
