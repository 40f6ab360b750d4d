from radarstream.defenses.protocol import Complete
from radarstream.lab.methods.astute_rag import AstuteRag
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.prompt import Task
from radarstream.schemas.verdict import Reason
from tests.builders import QUESTION, claims_evidence, make_evidence
from tests.driving import Script, run, saying

RECALL = Complete(Task.RECALL_PASSAGE, QUESTION, (), final=False)
RETRIEVED = ("Retrieved: Title 1\ndocument 1", "Retrieved: Title 2\ndocument 2")


def test_memory_is_consolidated_with_every_document_in_rank_order():
    script = Script(answer=saying("Ann won.", "Ann"))
    verdict, state = run(AstuteRag().defend(claims_evidence(["A", None]), None), script)
    assert script.requests == [
        RECALL,
        Complete(Task.CONSOLIDATE_PASSAGES, QUESTION, (*RETRIEVED, "Remembered: Ann won.")),
    ]
    assert (verdict.answer, state) == ("Ann", None)
    assert [(d.rank, d.kept, d.reason) for d in verdict.documents] == [
        (rank, True, Reason.NOT_JUDGED) for rank in (1, 2)
    ]


def test_a_memory_that_knows_nothing_adds_no_passage():
    script = Script(answer=saying(None, "Ann"))
    verdict, _ = run(AstuteRag().defend(claims_evidence([None, None]), None), script)
    assert script.requests[1] == Complete(Task.CONSOLIDATE_PASSAGES, QUESTION, RETRIEVED)
    assert verdict.answer == "Ann"


def test_no_document_can_pretend_to_be_a_memory():
    evidence = make_evidence([[0.0]], [[0.0]])
    script = Script(answer=lambda _: AtomicAnswer("A"))
    run(AstuteRag().defend(evidence, None), script)
    *retrieved, remembered = script.requests[1].passages
    assert all(passage.startswith("Retrieved: ") for passage in retrieved)
    assert remembered == "Remembered: A"
