"""What every registered Sentinel and Strategist promises."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.orchestration.sentinel import ModelSentinel, RuleSentinel
from radarstream.defenses.orchestration.signals import Seen
from radarstream.defenses.orchestration.strategist import ModelStrategist, RuleStrategist
from radarstream.schemas.orchestration import (
    Module,
    Plan,
    PrivacyPlan,
    QuestionSignals,
    RetrievalSignals,
    RiskLevel,
    RiskProfile,
)

SHARE = st.floats(0.0, 1.0)
QUESTIONS = st.builds(
    QuestionSignals, SHARE, SHARE, st.floats(0.0, 1_000.0), st.booleans(), st.booleans()
)
FOUND = st.none() | st.builds(
    RetrievalSignals, SHARE, SHARE, st.booleans(), st.none() | st.floats(-9.0, 9.0)
)
SEEN = st.builds(Seen, st.text(), SHARE, QUESTIONS, FOUND)
PROFILES = st.builds(RiskProfile, st.sampled_from(RiskLevel), SHARE, SHARE, SHARE, SHARE)
PLANS = st.none() | st.builds(Plan, st.builds(PrivacyPlan, st.booleans()))
REPLIES = (
    st.none() | st.sampled_from(["{}", "low", '{"level": "low", "membership": 0}']) | st.text()
)


@pytest.mark.parametrize("sentinel", [RuleSentinel(), ModelSentinel()])
@given(seen=SEEN, earlier=st.none() | PROFILES, reply=REPLIES)
def test_a_sentinel_is_total_and_deterministic(sentinel, seen, earlier, reply):
    before = copy.deepcopy(seen)
    assert sentinel.asks(seen, earlier) == sentinel.asks(seen, earlier)
    told = [sentinel.profile(seen, earlier, reply) for _ in range(2)]
    assert told[0] == told[1]
    assert seen == before


@pytest.mark.parametrize("strategist", [RuleStrategist(), ModelStrategist()])
@given(profile=PROFILES, seen=SEEN, earlier=PLANS, reply=REPLIES)
def test_a_strategist_is_total_and_keeps_to_its_stage(strategist, profile, seen, earlier, reply):
    told = [strategist.plan(profile, seen, earlier, reply) for _ in range(2)]
    assert told[0] == told[1]
    assert told[0].output_audit.enabled
    if earlier is None:
        assert set(told[0].active) <= {Module.PRIVACY}
    else:
        assert told[0].differential_privacy == earlier.differential_privacy
