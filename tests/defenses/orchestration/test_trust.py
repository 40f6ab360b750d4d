"""What a question does to trust: METHODS E.5."""

import pytest

from radarstream.defenses.orchestration.trust import delta_of, updated
from radarstream.schemas.orchestration import RiskLevel, RiskProfile


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
