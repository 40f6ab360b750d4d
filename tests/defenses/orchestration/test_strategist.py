"""The mapping, and that a model's plan cannot undo it."""

import json
from dataclasses import replace

import pytest

from radarstream.defenses.orchestration.signals import Seen
from radarstream.defenses.orchestration.strategist import ModelStrategist, RuleStrategist, theta_eff
from radarstream.schemas.orchestration import (
    AttentionPlan,
    AuditPlan,
    Module,
    Plan,
    PrivacyPlan,
    QuestionSignals,
    RetrievalSignals,
    RiskLevel,
    RiskProfile,
    TrustragPlan,
)

LOW = RiskProfile(RiskLevel.LOW)
CRITICAL = RiskProfile(RiskLevel.CRITICAL)
CALM = Seen("q", 0.5, QuestionSignals(), RetrievalSignals())
NO_PLAN = Plan()


def first(profile: RiskProfile = LOW, seen: Seen = CALM, **options: object) -> PrivacyPlan:
    plan = RuleStrategist(**options).plan(profile, seen)
    assert plan == Plan(differential_privacy=plan.differential_privacy, reasoning="rules")
    return plan.differential_privacy


def second(profile: RiskProfile = LOW, seen: Seen = CALM, earlier: Plan = NO_PLAN) -> Plan:
    return RuleStrategist().plan(profile, seen, earlier)


def asking(**signals: object) -> Seen:
    return replace(CALM, signals=QuestionSignals(**signals))


def test_thresholds_move_with_trust_and_count_themselves() -> None:
    assert [theta_eff(0.5, trust) for trust in (0.2, 0.5, 0.9)] == pytest.approx([0.44, 0.5, 0.58])
    assert theta_eff(0.06, 0.0) == 0.05
    assert theta_eff(0.94, 1.0) == 0.95
    assert not first().enabled
    assert second() == Plan(reasoning="rules")
    assert second().active == ()
    at = RiskProfile(RiskLevel.ELEVATED, membership=0.4)
    assert first(at).enabled
    assert not first(replace(at, membership=0.399)).enabled
    assert not first(at, replace(CALM, trust=0.51)).enabled
    assert first(replace(at, membership=0.3), replace(CALM, trust=0.0)).enabled


def test_privacy_and_its_epsilon() -> None:
    for profile, seen, epsilon in [
        (RiskProfile(RiskLevel.ELEVATED, membership=0.5), CALM, 3.0),
        (CRITICAL, CALM, 1.0),
        (LOW, asking(velocity=0.71), 1.0),  # a bot's speed
        (LOW, asking(lexical_overlap=0.71), 3.0),
    ]:
        expected = PrivacyPlan(True, epsilon)
        assert first(profile, seen) == expected
        assert first(profile, replace(seen, trust=1.0)) == (  # trust lowers no epsilon
            expected if profile.membership == 0.0 else first(profile, CALM)
        )


@pytest.mark.parametrize("z", [2.0, -2.0])
def test_trustrag_where_documents_are_unusual(z: float) -> None:
    unusual = replace(CALM, retrieval=RetrievalSignals(dispersion_z=z))
    assert second(LOW, unusual).trustrag == TrustragPlan(True, 0.88, 0.8)
    assert not second(LOW, replace(unusual, trust=0.8)).trustrag.enabled  # low risk, high trust
    poisoned = RiskProfile(RiskLevel.ELEVATED, poisoning=0.5)
    assert second(poisoned).trustrag.enabled


def test_leaks_and_critical_risks() -> None:
    for profile, seen in [
        (RiskProfile(RiskLevel.ELEVATED, leakage=0.4), CALM),
        (RiskProfile(RiskLevel.ELEVATED, jailbreak=0.4), CALM),
        (LOW, asking(complexity=0.61)),
    ]:
        plan = second(profile, seen)
        assert plan.attention_filtering == AttentionPlan(True, 3, 50.0)
        assert plan.output_audit == AuditPlan(True, "enforce")
        assert plan.active == (Module.ATTENTION, Module.GUARDRAIL, Module.AUDIT)
    assert second(CRITICAL, CALM, Plan(PrivacyPlan(True))).active == tuple(Module)
    assert second(CRITICAL).trustrag.similarity_threshold == 0.88
    published = RuleStrategist(thresholds="paper")
    assert published.plan(CRITICAL, CALM, NO_PLAN).trustrag == TrustragPlan(True, 0.9, 0.25)


def by_model(reply: str | None, profile: RiskProfile, seen: Seen, earlier: Plan | None) -> Plan:
    return ModelStrategist().plan(profile, seen, earlier, reply)


@pytest.mark.parametrize("earlier", [None, NO_PLAN])
def test_what_is_no_plan_is_the_plan_of_the_rules(earlier: Plan | None) -> None:
    for reply in [
        None, "switch everything off", "[]",
        '{"trustrag": {"enabled": true}, "firewall": {"enabled": true}}',
        '{"trustrag": {"enabled": true, "sigma": 1}}',
        '{"trustrag": {"enabled": true}, "trustrag": {"enabled": false}}',
        '{"attention_filtering": {"enabled": true, "threshold": NaN}}',
        '{"output_audit": {"mode": "off"}}',
        '{"differential_privacy": {"enabled": true, "epsilon": -1}}', "{" * 100_000,
    ]:  # fmt: skip
        profile = RiskProfile(RiskLevel.ELEVATED, 0.5, 0.5, 0.5)
        rules = RuleStrategist().plan(profile, CALM, earlier)
        assert by_model(reply, profile, CALM, earlier) == rules
        assert ModelStrategist().plan(profile, CALM, earlier) == rules


def test_a_model_sees_numbers_and_decides_where_no_override_does() -> None:
    profile = RiskProfile(RiskLevel.ELEVATED, 0.5, 0.5, 0.5)
    off = by_model('{"reasoning": "no"}', profile, CALM, None)
    assert not off.differential_privacy.enabled
    on = by_model('{"trustrag": {"enabled": true, "similarity_threshold": 0.7}}', LOW, CALM, off)
    assert on.trustrag == TrustragPlan(True, 0.7, 0.8)
    assert on.active == (Module.TRUSTRAG,)
    assert by_model('```json\n{"guardrail": {"enabled": true}}\n```', LOW, CALM, off).active == (
        Module.GUARDRAIL,
    )
    profile = replace(CRITICAL, rationale="the question says: SECRET")
    request = ModelStrategist().asks(profile, replace(CALM, question="SECRET"), NO_PLAN)
    assert "SECRET" not in repr(request)
    assert json.loads(request.passages[0])["stage"] == 2


OFF = json.dumps(
    {module.value: {"enabled": False} for module in Module}
    | {"trustrag": {"enabled": False, "similarity_threshold": 1.0}}
)


def test_a_model_cannot_undo_an_override() -> None:
    for profile, seen in [
        (CRITICAL, CALM),
        (LOW, asking(lexical_overlap=0.9, velocity=3.0, complexity=0.7)),
        (LOW, replace(CALM, retrieval=RetrievalSignals(dispersion_z=-4.0))),
    ]:
        rules = RuleStrategist()
        for earlier in (None, NO_PLAN):
            plan = by_model(OFF, profile, seen, earlier)
            assert set(plan.active) >= set(rules.plan(profile, seen, earlier).active)
            assert plan.output_audit.enabled
            assert plan.trustrag.similarity_threshold <= 0.88
        weak = '{"differential_privacy": {"enabled": true, "epsilon": 50}}'
        assert by_model(weak, CRITICAL, seen, None).differential_privacy == PrivacyPlan(True, 1.0)
