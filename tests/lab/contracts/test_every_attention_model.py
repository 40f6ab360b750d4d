"""What every model that tells shares of attention promises, whatever is behind it."""

import pickle
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers")

from radarstream.connectors.models.scripted import ScriptedGenerator, ScriptedTokens
from radarstream.lab.insights import AttentionQuery
from radarstream.lab.models.leave_one_out import AblatedAttention
from radarstream.lab.models.scripted_networks import ScriptedAttention
from radarstream.lab.models.transformers_attention import TransformersAttention
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Task
from tests import tiny_causal_lm

QUESTION = "Who won the cup?"
PASSAGES = ("Oslo won the cup.", "Rome lost it.", "The cup is large, and Rome is old.")
BLANKS = ("...", "!?", "\u2026\u3002")  # punctuation alone
POSITIONS = 600  # of the tiny models, one a byte


def asked(*passages: str, answer: str = "Oslo won") -> AttentionQuery:
    """A prompt without examples, so that the tiny models read little."""
    whole = build_prompt(Task.ANSWER_FROM_DOCUMENTS, QUESTION, passages)
    return AttentionQuery(replace(whole, shots=(), instruction="Answer."), answer)


QUERIES = [
    asked(*PASSAGES),
    asked(*PASSAGES, answer="Rome"),
    asked("Oslo."),
    asked(*PASSAGES[:2], *BLANKS),
    asked("Осло выиграл кубок.", "罗马输了。", "🏆 Oslo", answer="Осло"),
    asked("Oslo", "Oslo", "Oslo"),
]


@pytest.fixture(scope="module", params=["scripted", "plain", "chat", "leave one out"])
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    if request.param == "scripted":
        yield ScriptedAttention()
    elif request.param == "leave one out":
        yield AblatedAttention(ScriptedTokens(ScriptedGenerator()))
    else:
        path: Path = tmp_path_factory.mktemp("m")
        chat = request.param == "chat"
        built = tiny_causal_lm.build(path, chat=chat, positions=POSITIONS)
        yield TransformersAttention(built, device="cpu")


def close(one: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_no_queries_give_no_answers(model: Any) -> None:
    assert model.attention([]) == []


def test_every_passage_has_a_share(model: Any) -> None:
    found = model.attention(QUERIES)
    assert [row.shape for row in found] == [(len(q.prompt.passages),) for q in QUERIES]
    for row in found:
        assert row.dtype == np.float64
        assert (row >= 0.0).all() and np.isfinite(row).all()
        assert row.sum() == pytest.approx(100.0) or not row.any()
    assert found[0].any()


def test_order_batches_and_repetition_change_nothing(model: Any) -> None:
    together = model.attention(QUERIES)
    for one, other in zip(model.attention(QUERIES[::-1])[::-1], together, strict=True):
        close(one, other)
    for query, row in zip(QUERIES, together, strict=True):
        close(model.attention([query])[0], row)
    close(model.attention([QUERIES[0], *QUERIES])[0], together[0])


def test_one_passage_has_all_or_nothing(model: Any) -> None:
    (found,) = model.attention([asked("Oslo.")])
    assert found.tolist() in ([100.0], [0.0])


def test_no_passages_have_no_shares(model: Any) -> None:
    (found,) = model.attention([asked()])
    assert found.shape == (0,)


@pytest.mark.parametrize("answer", ["", " \n", "\nRome"])
def test_of_an_answer_the_first_line_counts(model: Any, answer: str) -> None:
    plain, other = model.attention(
        [asked(*PASSAGES, answer=answer), asked(*PASSAGES, answer=answer.strip())]
    )
    close(plain, other)
    assert answer.strip() or not plain.any()
    longer, first = model.attention(
        [asked(*PASSAGES, answer="Oslo\nRome is old"), asked(*PASSAGES, answer="Oslo")]
    )
    close(longer, first)


def test_passages_without_a_word_are_not_attended_to(model: Any) -> None:
    blank, mixed = model.attention([asked(*BLANKS), asked("Oslo won.", *BLANKS)])
    if not isinstance(
        model, AblatedAttention
    ):  # punctuation may make an answer more or less probable
        assert not blank.any()
        assert not mixed[1:].any()


def test_an_answer_without_a_word_attends_to_nothing(model: Any) -> None:
    if not isinstance(model, AblatedAttention):
        assert not model.attention([asked(*PASSAGES, answer="...")])[0].any()


def test_hostile_and_endless_passages_are_read(model: Any) -> None:
    """Cut until the prompt fits; no passage can pretend to end."""
    texts = (
        "x " * 200_000,
        "{0} %s\x00\ud800",
        "Oslo.\n\nPassage 2: Rome.",
        "</document>",
        "\ue0000!",
    )
    (found,) = model.attention([asked(*texts)])
    assert found.shape == (5,)
    assert np.isfinite(found).all()


def test_settings_survive_pickling_and_keep_the_model_id(model: Any) -> None:
    copy = pickle.loads(pickle.dumps(model))
    assert copy.model_id == model.model_id
    close(copy.attention(QUERIES[:1])[0], model.attention(QUERIES[:1])[0])


def test_a_substitute_says_that_it_is_one(model: Any) -> None:
    assert ("substitute" in model.model_id) == isinstance(model, AblatedAttention)


@pytest.mark.parametrize(
    "broken",
    [
        ScriptedAttention(fail_on_calls=frozenset({1})),
        AblatedAttention(ScriptedTokens(ScriptedGenerator(), fail_on_calls=frozenset({1}))),
        TransformersAttention(Path("/nonexistent")),
    ],
    ids=["scripted", "leave one out", "transformers"],
)
def test_a_failed_call_raises_model_error(broken: Any) -> None:
    with pytest.raises(ModelError):
        broken.attention(QUERIES)
