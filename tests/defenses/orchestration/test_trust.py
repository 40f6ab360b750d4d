"""Trust: METHODS E.5, and the cap on what an attacker may farm."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.orchestration.trust import TrustAccount, delta_of, moved, updated
from radarstream.schemas.orchestration import RiskLevel, RiskProfile

START = datetime(2024, 5, 1, tzinfo=UTC)
STEPS = st.lists(st.tuples(st.floats(0.0, 5_000.0), st.floats(-0.3, 0.3)), max_size=40)


def test_the_path_of_the_paper() -> None:
    trust = updated(0.5, 0.1, 0.1)
    assert trust == pytest.approx(0.7)
    trust = updated(trust, -0.1, -0.1)
    assert trust == pytest.approx(0.5)
    assert updated(trust, -0.1, 0.05) == pytest.approx(0.45)


def test_deltas_are_cut_before_they_count_and_trust_after() -> None:
    assert updated(0.5, 9.0, -9.0) == 0.5
    assert updated(0.95, 0.1, 0.1) == 1.0
    assert updated(0.05, -0.1, -0.1) == 0.0


def test_what_a_pass_changes() -> None:
    calm = RiskProfile(RiskLevel.LOW, delta=0.02)
    assert delta_of(calm, fired=False, intervened=False) == 0.02
    assert delta_of(calm, fired=True, intervened=False) == -0.05
    assert delta_of(calm, fired=True, intervened=True) == -0.1
    assert delta_of(None, fired=False, intervened=False) == 0.02


def test_a_model_cannot_give_more_trust_than_what_happened() -> None:
    generous = RiskProfile(RiskLevel.LOW, delta=0.1, sentinel="language_model")
    assert delta_of(generous, fired=False, intervened=False) == 0.02
    assert delta_of(generous, fired=True, intervened=False) == -0.05
    strict = RiskProfile(RiskLevel.CRITICAL, delta=-0.1, sentinel="language_model")
    assert delta_of(strict, fired=False, intervened=False) == -0.1


@given(STEPS, st.floats(0.0, 1.0))
def test_no_hour_gains_more_than_is_allowed(steps: list[tuple[float, float]], cap: float) -> None:
    account, at, gains = TrustAccount(), START, []
    for seconds, delta in steps:
        at += timedelta(seconds=seconds)
        after = moved(account, delta, at, cap)
        assert 0.0 <= after.trust <= 1.0
        gains.append((at, max(0.0, after.trust - account.trust)))
        account = after
    for first, _ in gains:
        within = [g for when, g in gains if first <= when <= first + timedelta(hours=1)]
        assert sum(within) <= cap + 1e-9


def test_three_harmless_questions_no_longer_buy_high_trust() -> None:
    account = TrustAccount()
    for minute in range(60):
        account = moved(account, 0.2, START + timedelta(minutes=minute), 0.1)
    assert account.trust <= 0.6


def test_a_day_of_harmless_questions_is_trusted() -> None:
    account, last = TrustAccount(), 0.0
    for hour in range(24):
        account = moved(account, 0.04, START + timedelta(hours=hour), 0.1)
        assert account.trust >= last
        last = account.trust
    assert last == 1.0


def test_a_loss_counts_in_full_and_gives_no_room_back() -> None:
    account = moved(TrustAccount(), 0.2, START, 0.1)
    assert account.trust == pytest.approx(0.55)
    account = moved(account, -0.2, START, 0.1)
    assert account.trust == pytest.approx(0.35)
    assert moved(account, 0.2, START, 0.1).trust == pytest.approx(0.35)


def test_a_clock_that_goes_back_refills_nothing() -> None:
    account = moved(TrustAccount(), 0.2, START, 0.1)
    for hours in (-3, 0):
        account = moved(account, 0.2, START + timedelta(hours=hours), 0.1)
    assert account.trust == pytest.approx(0.55)
