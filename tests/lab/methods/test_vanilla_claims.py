import pytest

from radarstream.defenses.protocol import Complete
from radarstream.lab.methods.vanilla_claims import VanillaClaims
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Abstention, Reason
from tests.builders import claims_evidence
from tests.driving import Script, run, saying


def test_every_atomic_answer_is_shown_in_rank_order():
    script = Script(answer=saying("A"))
    evidence = claims_evidence(["A", None, "B"])
    verdict, state = run(VanillaClaims().defend(evidence, None), script)
    assert script.requests == [Complete(Task.SYNTHESISE_ANSWERS, evidence.query.text, ("A", "B"))]
    assert (verdict.answer, state) == ("A", None)
    assert [(d.kept, d.reason) for d in verdict.documents] == [
        (True, Reason.NOT_JUDGED),
        (False, Reason.UNINFORMATIVE),
        (True, Reason.NOT_JUDGED),
    ]


@pytest.mark.parametrize(
    ("claims", "why"), [([], Abstention.NO_DOCUMENTS), ([None], Abstention.NO_EVIDENCE)]
)
def test_nothing_to_answer_from(claims, why):
    script = Script()
    verdict, _ = run(VanillaClaims().defend(claims_evidence(claims), None), script)
    assert (verdict.abstention, script.requests) == (why, [])
