"""Attention against a plain computation, the substitute against its definition, and where passages
stand in a prompt.
"""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("transformers")

import torch

from radarstream.connectors.models.rendering import completion_text, neutral
from radarstream.lab.insights import AttentionQuery
from radarstream.lab.models.leave_one_out import AblatedAttention
from radarstream.lab.models.transformers_attention import (
    TransformersAttention,
    passage_places,
    prompt_text,
)
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Prompt, Task
from radarstream.schemas.tasks import TASKS
from tests import tiny_causal_lm

PASSAGES = ("Oslo won, 3:1.", "Rome lost it!", "The cup is old.")


def prompt_of(passages: tuple[str, ...]) -> Prompt:
    whole = build_prompt(Task.ANSWER_FROM_DOCUMENTS, "Who won?", passages)
    return replace(whole, shots=(), instruction="Answer.")


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "chat"])
def attends(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> TransformersAttention:
    built = tiny_causal_lm.build(tmp_path_factory.mktemp("m"), chat=request.param, positions=500)
    return TransformersAttention(built, device="cpu")


def test_shares_are_those_of_a_plain_computation(attends: TransformersAttention) -> None:
    """One pass over everything; a token is a byte, so that places in the text are tokens."""
    model, tokenizer = attends.network()
    query = AttentionQuery(prompt_of(PASSAGES), "Oslo, 3!")
    (found,) = attends.attention([query])
    text, spans = passage_places(query.prompt, lambda p: prompt_text(tokenizer, p))
    whole = text + ("" if tokenizer.chat_template else " ") + query.answer
    ids = tokenizer(whole, add_special_tokens=False, return_tensors="pt").input_ids
    assert ids.shape[1] == len(whole)
    with torch.inference_mode():
        weights = torch.stack(model(ids, output_attentions=True).attentions).mean(dim=(0, 1, 2))
    said = [i for i in range(len(text), len(whole)) if whole[i].isalnum()]
    sums = [
        sum(float(weights[i, j]) for i in said for j in range(*span) if whole[j].isalnum())
        for span in spans
    ]
    assert [whole[slice(*span)] for span in spans] == list(PASSAGES)
    np.testing.assert_allclose(found, 100.0 * np.array(sums) / sum(sums), rtol=1e-4)


def test_a_prompt_that_cannot_fit_is_a_model_error(attends: TransformersAttention) -> None:
    """Passages can be cut, the question and the answer cannot."""
    query = AttentionQuery(replace(prompt_of(PASSAGES), question="?" * 600), "Oslo")
    with pytest.raises(ModelError, match="do not fit 500"):
        attends.attention([query])


class Told:
    """Log-probabilities by which passages a prompt has."""

    model_id = "told"

    def __init__(self, **logs: list[float]) -> None:
        self.logs = logs

    def log_probs(self, queries):
        return [
            np.array([self.logs["".join(prompt.passages)] for prompt in query.prompts])
            for query in queries
        ]


def test_the_substitute_is_the_drop_of_the_log_probability() -> None:
    for told, expected in (
        # Without A the answer loses 3 in all, without B 1, without C it gains.
        (Told(ABC=[-1.0] * 2, BC=[-4.0, -1.0], AC=[-2.0, -1.0], AB=[-0.5] * 2), [75.0, 25.0, 0.0]),
        # A and B say the same: without one of them the answer is as probable.
        (Told(ABC=[-1.0], BC=[-1.0], AC=[-1.0], AB=[-1.5]), [0.0, 0.0, 100.0]),
    ):
        query = AttentionQuery(prompt_of(("A", "B", "C")), "Oslo")
        assert AblatedAttention(told).attention([query])[0].tolist() == expected


def test_an_impossible_answer_is_no_infinite_drop() -> None:
    told = Told(AB=[-1.0], B=[-np.inf], A=[-12.0])
    (found,) = AblatedAttention(told).attention([AttentionQuery(prompt_of(("A", "B")), "Oslo")])
    assert found.tolist() == [90.0, 10.0]


@pytest.mark.parametrize("rows", [np.zeros((2, 1)), np.zeros(4), np.full((4, 1), np.nan)])
def test_a_malformed_reply_is_a_model_error(rows: np.ndarray) -> None:
    class Broken:
        model_id = "broken"

        def log_probs(self, queries):
            return [rows for _ in queries]

    with pytest.raises(ModelError, match="a row of numbers per prompt"):
        AblatedAttention(Broken()).attention([AttentionQuery(prompt_of(("A", "B", "C")), "Oslo")])


@given(st.lists(st.text(max_size=60), max_size=5))
@settings(max_examples=60, deadline=None)
def test_passages_are_found_whatever_they_say(texts: list[str]) -> None:
    prompt = prompt_of(tuple(texts))
    text, spans = passage_places(prompt, completion_text)
    assert text == completion_text(prompt)
    assert len(spans) == len(texts)
    shown = [neutral(p)[: TASKS[prompt.task].shared_characters] for p in prompt.passages]
    assert [text[slice(*span)] for span in spans] == shown


def test_a_template_that_leaves_passages_out_is_a_model_error() -> None:
    with pytest.raises(ModelError, match="not in the text"):
        passage_places(prompt_of(PASSAGES), lambda prompt: prompt.question)
