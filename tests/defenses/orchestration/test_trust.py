"""What a question does to trust: METHODS E.5."""

from radarstream.defenses.orchestration.trust import delta_of
from radarstream.schemas.orchestration import RiskLevel, RiskProfile


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
