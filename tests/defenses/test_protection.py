"""What may follow from a report of a wrong answer: a table of cases, and what no report can do."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from defenses.attribution.protection import Rules, Trust, decide, refusal
from schemas.attribution import Finding
from schemas.reports import PIPELINE, REMOVING, Decision, OriginEvent
from tests.wire_samples import ORIGIN

RULES = Rules()
FRIEND, STRANGER, LIAR = Trust(confirmed=1), Trust(), Trust(dismissed=1)
CLEAR = replace(ORIGIN, gap=1.0, generation_gap=0.1, persists=False, reproduced=True)
TWO = {"ada": FRIEND, "bob": FRIEND}


def test_trust_is_the_mean_of_a_beta_posterior() -> None:
    assert STRANGER.mean == 0.5
    assert FRIEND.mean == pytest.approx(2 / 3)
    assert Trust(3, 1).mean == pytest.approx(4 / 6)
    trusts = (FRIEND, Trust(2, 1), STRANGER, LIAR, Trust(1, 1))
    assert [t.trusted for t in trusts] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("changes", "reporters", "word", "decision"),
    [
        ({}, TWO, None, Decision.QUARANTINED),
        ({}, {"ada": FRIEND}, None, Decision.PROPOSED),
        ({}, {"ada": FRIEND, "eve": STRANGER}, None, Decision.PROPOSED),
        ({}, {"ada": FRIEND, PIPELINE: Trust(confirmed=99)}, None, Decision.PROPOSED),
        ({}, {PIPELINE: STRANGER}, None, Decision.PROPOSED),
        ({}, {"eve": STRANGER}, Decision.APPROVED, Decision.APPROVED),
        ({}, TWO, Decision.DISMISSED, Decision.DISMISSED),
        # a: nobody can tell that it was ever answered
        ({"finding": None, "texts": (), "reproduced": False}, TWO, None, Decision.UNVERIFIED),
        ({"reproduced": False}, TWO, None, Decision.HUMAN_REVIEW),
        ({"reproduced": False}, TWO, Decision.APPROVED, Decision.APPROVED),
        # nothing is to blame: no word can change that
        ({"finding": Finding.INTRINSIC_ERROR}, TWO, None, Decision.NOTHING_FLAGGED),
        ({"finding": Finding.NO_SEPARATION}, TWO, Decision.APPROVED, Decision.NOTHING_FLAGGED),
        ({"texts": ()}, TWO, Decision.APPROVED, Decision.NOTHING_FLAGGED),
        # e: the groups are not apart
        ({"gap": 0.999}, TWO, None, Decision.HUMAN_REVIEW),
        ({"gap": None}, TWO, None, Decision.HUMAN_REVIEW),
        ({"generation_gap": 0.0}, TWO, None, Decision.HUMAN_REVIEW),
        ({"generation_gap": None}, TWO, None, Decision.HUMAN_REVIEW),
        ({"gap": 0.5}, TWO, Decision.APPROVED, Decision.APPROVED),
        # f: the answer persists
        ({"persists": True}, TWO, None, Decision.RESTORED),
        ({"persists": True}, TWO, Decision.APPROVED, Decision.RESTORED),
        # nothing would be left to answer from
        ({"answer_without": None}, TWO, None, Decision.HUMAN_REVIEW),
        ({"answer_without": None}, TWO, Decision.APPROVED, Decision.APPROVED),
    ],
)
def test_decisions(changes, reporters, word, decision) -> None:
    found, detail = decide(replace(CLEAR, **changes), reporters, word, RULES)
    assert found is decision
    assert detail


@pytest.mark.parametrize(
    ("trust", "in_a_day", "waiting", "refused"),
    [
        (STRANGER, 0, 0, False),
        (STRANGER, 19, 999, False),
        (STRANGER, 20, 0, True),
        (FRIEND, 20, 0, True),
        (STRANGER, 0, 1_000, True),
        (FRIEND, 0, 1_000, False),
        (LIAR, 4, 0, False),
        (LIAR, 5, 0, True),
    ],
)
def test_refusals(trust, in_a_day, waiting, refused) -> None:
    assert bool(refusal(RULES, trust, in_a_day=in_a_day, waiting=waiting)) is refused


TRUSTS = st.builds(Trust, st.integers(0, 3), st.integers(0, 3))
EVENTS = st.builds(
    replace,
    st.just(CLEAR),
    gap=st.none() | st.floats(-3, 3),
    generation_gap=st.none() | st.floats(-3, 3),
    persists=st.sampled_from([None, False, True]),
    reproduced=st.booleans(),
    finding=st.none() | st.sampled_from(Finding),
    answer_without=st.none() | st.just("Zürich"),
)


@given(EVENTS, st.dictionaries(st.text(min_size=1), TRUSTS, max_size=30))
def test_no_removal_without_two_trusted_people_or_a_word(
    event: OriginEvent, reporters: dict[str, Trust]
) -> None:
    decision, _ = decide(event, reporters, None, RULES)
    trusted = [name for name, t in reporters.items() if t.trusted and name != PIPELINE]
    if len(trusted) < 2:
        assert decision not in REMOVING
    if decision in REMOVING:
        assert event.reproduced
        assert not event.persists
        assert event.answer_without is not None
        assert event.gap is not None
        assert event.gap >= RULES.min_gap


@given(st.integers(1, 500), EVENTS)
def test_strangers_remove_nothing_however_many_they_are(count: int, event: OriginEvent) -> None:
    sybils = {f"sybil-{number}": STRANGER for number in range(count)}
    assert decide(event, sybils, None, RULES)[0] not in REMOVING
    one_friend = sybils | {"ada": FRIEND, PIPELINE: FRIEND}
    assert decide(event, one_friend, None, RULES)[0] not in REMOVING
