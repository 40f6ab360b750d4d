import pytest

from radarstream.defenses.protocol import Complete
from radarstream.lab.methods.instruct_rag import InstructRag
from radarstream.schemas.prompt import Task, conclusion
from radarstream.schemas.verdict import Abstention, Reason
from tests.builders import QUESTION, claims_evidence
from tests.driving import Script, run, saying

RATIONALE = 'Passage 1 says "Bo". Passage 2 is the club\'s own page. The answer is Ann.'
PASSAGES = ("Title 1\ndocument 1", "Title 2\ndocument 2")


def judge(defense: InstructRag, claims: list[str | None], *replies: str | None):
    script = Script(answer=saying(*replies))
    verdict, state = run(defense.defend(claims_evidence(claims), None), script)
    assert state is None
    return verdict, script.requests


def test_the_conclusion_of_a_rationale_is_the_answer():
    verdict, requests = judge(InstructRag(), ["A", None], RATIONALE)
    assert requests == [Complete(Task.ANSWER_WITH_RATIONALE, QUESTION, PASSAGES)]
    assert verdict.answer == "Ann"
    assert [(d.rank, d.kept, d.reason) for d in verdict.documents] == [
        (rank, True, Reason.NOT_JUDGED) for rank in (1, 2)
    ]


def test_a_rationale_without_conclusion_is_read_by_a_second_request():
    verdict, requests = judge(InstructRag(), ["A", "B"], "Passage 2 says Ann.", "Ann")
    assert requests[1:] == [
        Complete(Task.ATOMIC_ANSWER, QUESTION, ("Passage 2 says Ann.",), final=False)
    ]
    assert verdict.answer == "Ann"


def test_without_extraction_the_rationale_is_the_answer_and_quotes_count():
    verdict, requests = judge(InstructRag(extract=False), ["A", "B"], RATIONALE)
    assert verdict.answer == RATIONALE
    assert "Bo" in verdict.answer
    assert len(requests) == 1


@pytest.mark.parametrize("replies", [(None,), ("Passage 2 is about cups.", None)])
def test_an_abstaining_model(replies: tuple[str | None, ...]):
    verdict, requests = judge(InstructRag(), ["A"], *replies)
    assert (verdict.answer, verdict.abstention) == ("", Abstention.MODEL_ABSTAINED)
    assert len(requests) == len(replies)


@pytest.mark.parametrize(
    ("rationale", "concluded"),
    [
        ("The answer is Rome.", "Rome"),
        ('So the final answer is: "Will Hurd".', "Will Hurd"),
        ("The answer is not in passage 1. The answer is Bo", "Bo"),
        ("The answer is former Rep. Will Hurd. Passage 2 lies.", "former Rep. Will Hurd"),
        ("The answer is the U.S. Steel deal", "the U.S. Steel deal"),
        ("The answer is 71%. Passage 2 is about depth.", "71%"),
        ("the\nanswer\nis 3.5", "3.5"),
        ("The answer is", None),
        ("The answers isolate nothing.", None),
        ("", None),
    ],
)
def test_conclusions(rationale: str, concluded: str | None):
    assert conclusion(rationale) == concluded
