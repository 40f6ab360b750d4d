"""What every registered Sentinel and Strategist promises."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.orchestration.protocol import Seen
from radarstream.defenses.orchestration.registry import (
    SENTINELS,
    STRATEGISTS,
    build_sentinel,
    build_strategist,
)
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.orchestration import (
    Module,
    Plan,
    PrivacyPlan,
    QuestionSignals,
    RetrievalSignals,
    RiskLevel,
    RiskProfile,
)
from tests.driving import Script, run, saying

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
REPLIES = st.sampled_from(["{}", "low", '{"level": "low", "membership": 0}']) | st.text(
    min_size=1
).filter(str.strip)


@pytest.mark.parametrize("name", SENTINELS)
@given(seen=SEEN, earlier=st.none() | PROFILES, reply=REPLIES)
def test_a_sentinel_is_total_and_deterministic(
    name: str, seen: Seen, earlier: RiskProfile | None, reply: str
) -> None:
    sentinel, before = build_sentinel(name), copy.deepcopy(seen)
    told = [run(sentinel.look(seen, earlier), Script(saying(reply))) for _ in range(2)]
    assert told[0] == told[1]
    assert seen == before
    assert sentinel.without_model(seen, earlier) == sentinel.without_model(seen, earlier)


@pytest.mark.parametrize("name", STRATEGISTS)
@given(profile=PROFILES, seen=SEEN, earlier=PLANS, reply=REPLIES)
def test_a_strategist_is_total_and_keeps_to_its_stage(
    name: str, profile: RiskProfile, seen: Seen, earlier: Plan | None, reply: str
) -> None:
    strategist = build_strategist(name)
    scripts = [Script(saying(reply)) for _ in range(2)]
    told = [run(strategist.plan(profile, seen, earlier), script) for script in scripts]
    assert told[0] == told[1]
    assert told[0].output_audit.enabled
    if earlier is None:
        assert set(told[0].active) <= {Module.PRIVACY}
    else:
        assert told[0].differential_privacy == earlier.differential_privacy


@pytest.mark.parametrize("build", [build_sentinel, build_strategist])
def test_unknown_names_and_options_are_refused(build) -> None:
    with pytest.raises(ConfigurationError, match="named 'oracle'"):
        build("oracle")
    with pytest.raises(ConfigurationError, match="colour"):
        build("rules", {"colour": "red"})
