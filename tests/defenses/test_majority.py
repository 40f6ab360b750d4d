import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.majority import Majority
from radarstream.schemas.memory import Belief
from radarstream.schemas.verdict import Abstention, MemoryDecision, Reason
from tests.builders import claims_evidence
from tests.driving import Script, run

CLAIMS = st.lists(st.sampled_from(["Rome", "Oslo", "Lima", None]), max_size=12)


def decide(claims, state=None, **options):
    script = Script()
    verdict, after = run(Majority(**options).defend(claims_evidence(claims), state), script)
    assert script.requests == []
    return verdict, after


def test_most_documents_win_and_the_previous_answer_has_one_vote():
    verdict, state = decide(["Oslo", "Rome", None, "rome."])
    assert (verdict.answer, state) == ("Rome", None)
    assert [d.reason for d in verdict.documents] == [
        Reason.OUTVOTED, Reason.SUPPORTED, Reason.UNINFORMATIVE, Reason.SUPPORTED,
    ]  # fmt: skip
    assert verdict.kept_ranks == (2, 4)
    assert decide(["Oslo", "Rome"])[0].answer == "Oslo"
    remembered = Belief("Rome", 1.0, 0.0)
    verdict, after = decide(["Oslo", "Rome"], remembered, memory=True)
    assert (verdict.answer, verdict.memory.decision) == ("Rome", MemoryDecision.RETAINED)
    assert after == Belief("Rome", 0.5, 0.5)
    assert decide(["Oslo"], remembered, memory=True)[0].answer == "Oslo"  # a tie is lost
    verdict, after = decide(["Oslo", "Oslo", "Rome"], Belief("Lima", 1.0, 0.0), memory=True)
    assert (verdict.answer, verdict.memory.decision) == ("Oslo", MemoryDecision.FALSIFIED)


@pytest.mark.parametrize(
    ("claims", "why"), [([], Abstention.NO_DOCUMENTS), ([None, None], Abstention.NO_EVIDENCE)]
)
@pytest.mark.parametrize("memory", [False, True])
def test_nothing_to_count(claims, why, memory):
    before = Belief("Rome", 1.0, 0.0) if memory else None
    verdict, after = decide(claims, before, memory=memory)
    assert (verdict.abstention, after) == (why, before)


@given(CLAIMS)
def test_a_strict_majority_always_wins(claims):
    said = [claim for claim in claims if claim is not None]
    verdict, _ = decide(claims)
    for claim in set(said):
        if said.count(claim) > len(said) / 2:
            assert verdict.answer == claim
