"""Keyword match: answers from single texts against the wrong answer."""

import pytest

from radarstream.defenses.protocol import CompleteAll
from radarstream.lab.methods.each_alone import KeywordMatch
from radarstream.schemas.attribution import Finding
from radarstream.schemas.prompt import Task
from tests.builders import make_case
from tests.driving import Script, run, saying


def attribute(answers, wrong="Bishkek in Kyrgyzstan", texts=None, **options):
    texts = texts or [f"text {i}" for i in range(len(answers))]
    script = Script(answer=saying(*answers, None))
    event = make_case(texts, answer=wrong)
    return run(KeywordMatch(**options).attribute(event), script), script


@pytest.mark.parametrize(
    ("answer", "shared"),
    [
        ("Bishkek in Kyrgyzstan", 3),  # the whole answer and both words
        ("bishkek", 1),
        ("The city of Bishkek.", 1),
        ("Tashkent", 0),
        ("in", 0),
        ("Bishkeks", 0),
        (None, 0),
    ],
)
def test_counts_shared_words_and_phrases(answer: str | None, shared: int):
    found, _ = attribute([answer, "Oslo"])
    assert [text.score for text in found.texts] == [float(shared), 0.0]
    assert found.flagged == (("d1",) if shared else ())
    assert found.gap == (float(shared) if shared else None)


def test_every_text_is_answered_alone_in_one_batch():
    found, script = attribute(["Bishkek", "Oslo", "Bishkek"])
    (request,) = script.requests
    assert isinstance(request, CompleteAll)
    assert [single.passages for single in request.requests] == [
        ("text 0",),
        ("text 1",),
        ("text 2",),
    ]
    assert {(s.task, s.final) for s in request.requests} == {(Task.ATOMIC_ANSWER, False)}
    assert found.flagged == ("d1", "d3")


def test_a_jamming_answer_matches_no_refusal_to_answer():
    """The texts' own refusals are abstentions and say nothing."""
    found, _ = attribute([None, None], wrong="I don't know")
    assert found.finding is Finding.NOTHING_FLAGGED


def test_an_answer_of_function_words_matches_nothing():
    found, _ = attribute(["it", "of the"], wrong="it")
    assert found.flagged == ()


def test_all_texts_may_be_flagged():
    found, _ = attribute(["Bishkek"] * 3)
    assert found.flagged == ("d1", "d2", "d3")
    assert found.gap is None
