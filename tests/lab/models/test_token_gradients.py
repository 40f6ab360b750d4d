"""Gradients with respect to words are slopes of the embeddings that the retriever computes."""

import shutil
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers")
pytest.importorskip("sentence_transformers")

import torch

from radarstream.connectors.models.sentence_embedder import SentenceEmbedder
from radarstream.lab.models.token_gradients import TokenGradients
from radarstream.schemas.errors import ConfigurationError
from tests import tiny_causal_lm

TEXTS = ["Who is the mayor of Halden?", "Bo Lee is the mayor. The council said so.", "Monday."]


@pytest.fixture(scope="module")
def encoder(directory: Path) -> TokenGradients:
    return TokenGradients(directory)


def test_embeddings_are_the_retrievers(encoder: TokenGradients, directory: Path) -> None:
    retriever = SentenceEmbedder(directory)
    assert encoder.model_id == retriever.model_id
    texts = [*TEXTS, " ".join(TEXTS * 30)]  # the last one is cut off
    assert encoder.embed(texts) == pytest.approx(retriever.embed(texts), abs=1e-5)
    assert encoder.embed([]).shape == (0, encoder.embed(TEXTS).shape[1])


def test_gradients_are_slopes(encoder: TokenGradients) -> None:
    rng = np.random.default_rng(0)
    wanted = rng.standard_normal(encoder.embed(TEXTS).shape)
    told = encoder.gradients(TEXTS, wanted)
    weight = encoder._network.words.weight
    for text, row, gradient in zip(TEXTS, wanted, told, strict=True):
        (tokens,) = encoder.tokens([text])
        assert gradient.shape == (len(tokens), weight.shape[1])
        token = tokens[0]
        assert tokens.count(token) == 1
        step = 0.01 * rng.standard_normal(weight.shape[1])
        values = []
        for sign in (1.0, -2.0, 1.0):  # up, down, and back
            with torch.no_grad():
                weight[token] += torch.as_tensor(sign * step).to(weight)
            values.append(encoder.embed([text])[0] @ row)
        slope = (values[0] - values[1]) / 2.0
        assert gradient[0] @ step == pytest.approx(slope, rel=0.05, abs=1e-4)


def test_neighbours_in_a_batch_change_nothing(encoder: TokenGradients) -> None:
    wanted = np.ones_like(encoder.embed(TEXTS))
    together = encoder.gradients(TEXTS, wanted)
    for text, gradient in zip(TEXTS, together, strict=True):
        (alone,) = encoder.gradients([text], wanted[:1])
        assert gradient == pytest.approx(alone, abs=1e-5)


def test_what_may_be_written_is_whole_words(encoder: TokenGradients) -> None:
    words = [encoder.text([int(token)]) for token in encoder.substitutes]
    assert words
    assert all(word.isascii() and word.isalpha() and len(word) > 1 for word in words)
    assert encoder.tokens(words) == [(int(token),) for token in encoder.substitutes]
    assert encoder.substitute_rows.shape[0] == len(words)


def test_pieces_of_words_are_joined(encoder: TokenGradients) -> None:
    for text in TEXTS:
        (tokens,) = encoder.tokens([text])
        assert encoder.tokens([encoder.text(tokens)]) == [tokens]


def test_other_vocabularies_are_refused(directory: Path, tmp_path: Path) -> None:
    copied = Path(shutil.copytree(directory, tmp_path / "bert"))
    tiny_causal_lm.build(tmp_path / "gpt2")
    for file in (tmp_path / "gpt2").glob("tokenizer*"):
        shutil.copy(file, copied)
    with pytest.raises(ConfigurationError, match="vocabulary of words"):
        TokenGradients(copied).tokens(["a"])
