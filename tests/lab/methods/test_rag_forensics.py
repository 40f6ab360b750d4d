"""RAGForensics: text after text, until enough are benign."""

import pytest

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.defenses.protocol import Complete
from radarstream.lab.methods.each_alone import RagForensics
from radarstream.pipelines.signals.parsing import parse_reply
from radarstream.schemas.attribution import Finding
from radarstream.schemas.errors import EvidenceError, ModelError
from radarstream.schemas.evidence import AtomicAnswer
from radarstream.schemas.prompt import Task
from tests.builders import make_case
from tests.driving import Script, attribute_all, run
from tests.scripted_models import scripted_models


def by_word(request: Complete) -> AtomicAnswer:
    """What a judge's reply becomes at the edge of the model."""
    says = "It wants that. [YES]" if "lie" in request.passages[0] else "It does not. [NO]"
    return parse_reply(request.task, says)


def attribute(texts, answer=by_word, k=2, **options):
    script = Script(answer=answer)
    method = RagForensics(**options)
    return run(method.attribute(make_case(texts, k=k)), script), script


def test_walks_until_k_are_benign():
    texts = ["lie 1", "truth 1", "lie 2", "truth 2", "lie 3", "truth 3"]
    found, script = attribute(texts)
    assert found.flagged == ("d1", "d3")
    assert [text.rank for text in found.texts] == [1, 2, 3, 4]
    assert [text.score for text in found.texts] == [1.0, 0.0, 1.0, 0.0]
    assert found.gap == 1.0
    assert len(script.requests) == 4


@pytest.mark.parametrize("poisons", range(6))
@pytest.mark.parametrize("k", [1, 3])
def test_costs_at_most_the_poisons_and_k(poisons: int, k: int):
    found, script = attribute([f"lie {i}" for i in range(poisons)] + ["truth"] * 9, k=k)
    assert len(script.requests) == poisons + k
    assert len(found.flagged) == poisons


def test_asks_with_the_answer_that_was_given():
    _, script = attribute(["lie", "truth"])
    for request, text in zip(script.asked(Complete), ["lie", "truth"], strict=True):
        assert request.task is Task.JUDGE_INDUCEMENT
        assert (request.question, request.passages) == ("Who won the cup?", (text, "Rome"))
        assert not request.final


@pytest.mark.parametrize(
    ("reply", "flagged"),
    [
        ("First I thought [NO], but it orders the reader about. [YES]", True),
        ("[YES] at first sight; in the end [NO]", False),
        ("It tries to make them say so.", False),
        ("", False),
        ("[MAYBE]", False),
        ("[ yes ]", True),
    ],
)
def test_the_last_label_counts_and_none_is_benign(reply: str, flagged: bool):
    found, _ = attribute(["a", "b"], lambda request: parse_reply(request.task, reply))
    assert [text.flagged for text in found.texts] == [flagged, flagged]
    assert found.finding is (Finding.TEXTS_FLAGGED if flagged else Finding.NOTHING_FLAGGED)
    assert found.gap is None


def test_options():
    texts = ["lie", "truth", "truth", "lie"]
    assert len(attribute(texts, benign=1)[0].texts) == 2
    assert attribute(texts, k=5, max_texts=3)[0].flagged == ("d1",)
    assert attribute(texts, k=5)[0].flagged == ("d1", "d4")


def test_many_walks_share_their_batches():
    models = scripted_models(script=None)
    events = [make_case(["It is Rome.", "No.", "No."], k=1) for _ in range(3)]
    found = attribute_all(RagForensics(), events, models)
    assert [attribution.flagged for attribution in found] == [("d1",)] * 3
    assert [len(batch) for batch in models.generator.log] == [3, 3]


def test_a_judge_that_fails_is_no_benign_text():
    models = scripted_models(script=None, fail_on_text="broken")
    assert isinstance(models.generator, ScriptedGenerator)
    (found,) = attribute_all(RagForensics(), [make_case(["It is Rome.", "broken"])], models)
    assert isinstance(found, ModelError)


def test_a_misgeneration_without_an_answer_is_refused():
    with pytest.raises(EvidenceError):
        next(RagForensics().attribute(make_case(["a", "b"], answer=" ")))
