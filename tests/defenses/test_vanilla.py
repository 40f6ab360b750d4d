from radarstream.defenses.protocol import Complete
from radarstream.defenses.vanilla import Vanilla
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Reason
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
