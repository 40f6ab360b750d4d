from radarstream.defenses.protocol import Complete
from radarstream.defenses.vanilla import Vanilla
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Abstention, Reason
from tests.builders import claims_evidence
from tests.driving import Script, run, saying


def test_every_document_is_shown_in_rank_order():
    script = Script(answer=saying("A"))
    evidence = claims_evidence(["A", None, "B"])
    verdict, state = run(Vanilla().defend(evidence, None), script)
    assert script.requests == [
        Complete(
            Task.ANSWER_FROM_DOCUMENTS,
            evidence.query.text,
            ("Title 1\ndocument 1", "Title 2\ndocument 2", "Title 3\ndocument 3"),
        )
    ]
    assert (verdict.answer, state) == ("A", None)
    assert [(d.rank, d.kept, d.reason) for d in verdict.documents] == [
        (rank, True, Reason.NOT_JUDGED) for rank in (1, 2, 3)
    ]


def test_no_documents():
    script = Script()
    verdict, _ = run(Vanilla().defend(claims_evidence([]), None), script)
    assert verdict.abstention is Abstention.NO_DOCUMENTS
    assert script.requests == []


def test_an_abstaining_model():
    verdict, _ = run(Vanilla().defend(claims_evidence(["A"]), None), Script(answer=saying(None)))
    assert (verdict.answer, verdict.abstention) == ("", Abstention.MODEL_ABSTAINED)
