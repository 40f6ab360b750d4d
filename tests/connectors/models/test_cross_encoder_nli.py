"""The NLI path on a real tiny cross-encoder: label order, canary, batches, failures."""

from pathlib import Path

import numpy as np
import pytest

from radarstream.connectors.models import cross_encoder_nli
from radarstream.connectors.models.cross_encoder_nli import CrossEncoderNli, label_columns
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.prompt import AnswerPair

pytest.importorskip("transformers")
tiny_nli = pytest.importorskip("tests.connectors.models.tiny_nli")

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def straight(tmp_path_factory) -> Path:
    return tiny_nli.build(tmp_path_factory.mktemp("straight"))


@pytest.fixture(scope="module")
def turned(tmp_path_factory) -> Path:
    """The same weights with the label order of the sentence-transformers family."""
    return tiny_nli.build(
        tmp_path_factory.mktemp("turned"),
        labels=("CONTRADICTION", "ENTAILMENT", "NEUTRAL"),
        columns=(2, 0, 1),
    )


@pytest.fixture(scope="module")
def mislabelled(tmp_path_factory) -> Path:
    """Names that do not belong to the columns: what a wrong hard-coded order looks like."""
    return tiny_nli.build(
        tmp_path_factory.mktemp("mislabelled"), labels=("contradiction", "entailment", "neutral")
    )


PAIRS = [
    AnswerPair(tiny_nli.QUESTION, a, b)
    for a, b in [("Oslo", "Oslo"), ("Oslo", "Bergen"), ("12", "13"), ("a longer answer", "red")]
]


def test_label_orders_give_the_same_probabilities_and_other_ids(straight, turned):
    first = CrossEncoderNli(straight).probabilities(PAIRS)
    second = CrossEncoderNli(turned).probabilities(PAIRS)
    assert np.allclose(first, second, atol=1e-6)
    assert np.ptp(first, axis=1).min() > 0.01  # no uniform rows: an exchange would show
    assert CrossEncoderNli(straight).model_id == CrossEncoderNli(str(straight)).model_id
    assert CrossEncoderNli(straight).model_id != CrossEncoderNli(turned).model_id


def test_a_model_whose_labels_lie_is_refused(mislabelled):
    scorer = CrossEncoderNli(mislabelled)
    for _ in range(2):  # it stays refused
        with pytest.raises(ConfigurationError, match="canary"):
            scorer.probabilities(PAIRS)


def test_batches_change_neither_order_nor_values_and_score_each_pair_once(straight, monkeypatch):
    scorer = CrossEncoderNli(straight)
    whole = scorer.probabilities(PAIRS)
    rows: list[int] = []
    forward = scorer._forward
    monkeypatch.setattr(scorer, "_forward", lambda batch: rows.append(len(batch)) or forward(batch))
    for batch_size in (1, 2, 64):
        monkeypatch.setattr(cross_encoder_nli, "BATCH_SIZE", batch_size)
        assert np.allclose(whole, scorer.probabilities(PAIRS[::-1] * 2)[3::-1], atol=1e-5)
    assert sum(rows) == 3 * len(PAIRS)


def test_a_failing_forward_pass_is_a_model_error(straight, monkeypatch):
    scorer = CrossEncoderNli(straight)
    scorer.load()

    def out_of_memory(**_):
        raise RuntimeError("CUDA out of memory")

    with monkeypatch.context() as patched, pytest.raises(ModelError, match="out of memory"):
        patched.setattr(scorer._model, "forward", out_of_memory)
        scorer.probabilities(PAIRS)
    scorer._model.classifier.bias.data.fill_(float("nan"))
    with pytest.raises(ModelError, match="finite"):
        scorer.probabilities(PAIRS)


def test_overlong_answers_are_cut_and_missing_models_refused(straight):
    pair = AnswerPair(tiny_nli.QUESTION, "word " * 5_000, "Oslo")
    assert CrossEncoderNli(straight).probabilities([pair]).sum() == pytest.approx(1.0)
    for name in ("no/such-model", "not a model name at all", "/nowhere"):
        with pytest.raises(ConfigurationError):
            CrossEncoderNli(name).load()


def test_label_columns_follow_the_names_and_unknown_labels_are_refused():
    assert label_columns({0: "contradiction", 1: "Entailment", 2: "NEUTRAL"}) == [1, 2, 0]
    for labels in (
        ("LABEL_0", "LABEL_1", "LABEL_2"), ("entailment", "not_entailment"),
        ("entailment", "neutral"), ("entailment", "neutral", "contradiction", "entail"),
    ):  # fmt: skip
        with pytest.raises(ConfigurationError):
            label_columns(dict(enumerate(labels)))
