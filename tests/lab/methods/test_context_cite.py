"""ContextCite: random contexts, log-odds, a sparse fit, exact two-means."""

import dataclasses

import numpy as np
import pytest
from sklearn.linear_model import Lasso
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from radarstream.defenses.protocol import LogProbs
from radarstream.lab.methods.ablations import ContextCite
from radarstream.schemas.attribution import Finding
from radarstream.schemas.prompt import Task
from tests.builders import make_case
from tests.driving import Likelihoods, run

TEXTS = ["lie one", "truth a", "lie two", "truth b", "truth c"]
EVENT = make_case(TEXTS)


def told(passages: tuple[str, ...], _: str) -> tuple[float, ...]:
    """Two tokens; each lie adds 3 to the log-odds, a truth takes .2 away."""
    lies = sum("lie" in passage for passage in passages)
    odds = -4.0 + 3.0 * lies - 0.2 * (len(passages) - lies)
    return (-np.log1p(np.exp(-odds)), 0.0)


def attribute(event=EVENT, log_probs=told, **options):
    script = Likelihoods(log_probs=log_probs)
    return run(ContextCite(**options).attribute(event), script), script


def test_lies_are_found():
    found, _ = attribute()
    assert found.finding is Finding.TEXTS_FLAGGED
    assert found.flagged == ("d1", "d3")
    assert found.texts[0].score == pytest.approx(3.0, abs=0.15)
    assert found.gap > 2.5
    assert [text.similarity for text in found.texts] == [1.0 / r for r in range(1, 6)]


def test_weights_are_those_of_the_published_solver():
    """StandardScaler and Lasso(alpha=.01) on the log-odds per token, scaled back."""
    found, _ = attribute()
    masks = ContextCite().masks(EVENT)
    lies, shown = masks[:, [0, 2]].sum(axis=1), masks.sum(axis=1)
    odds = -4.0 + 3.0 * lies - 0.2 * (shown - lies)
    pipeline = make_pipeline(StandardScaler(), Lasso(alpha=0.01, tol=1e-12, max_iter=100_000))
    pipeline.fit(masks.astype(float), odds / 2)
    expected = pipeline[1].coef_ / pipeline[0].scale_ * 2
    assert [text.score for text in found.texts] == pytest.approx(expected, abs=1e-6)


def test_the_answer_is_asked_from_each_context_once_in_rank_order():
    _, script = attribute()
    (request,) = script.asked(LogProbs)
    contexts = [row.passages for row in request.rows]
    assert request.continuation == "Rome"
    assert len(set(contexts)) == len(contexts) <= min(64, 2**5)
    assert all(list(c) == [t for t in TEXTS if t in c] for c in contexts)
    assert {row.task for row in request.rows} == {Task.ANSWER_FROM_DOCUMENTS}
    assert not any(row.final for row in request.rows)


def test_masks_are_halves_and_belong_to_the_misgeneration():
    masks = ContextCite().masks(EVENT)
    assert masks.shape == (64, 5)
    assert masks.mean() == pytest.approx(0.5, abs=0.1)
    assert (ContextCite().masks(EVENT) == masks).all()
    for other in (
        dataclasses.replace(EVENT, answer="Oslo"),
        make_case(TEXTS, question="Who lost?"),
        dataclasses.replace(EVENT, texts=EVENT.texts[::-1]),
    ):
        assert (ContextCite().masks(other) != masks).any()
    assert (ContextCite(keep_probability=0.9).masks(EVENT)).mean() > 0.8


def test_texts_that_change_nothing_are_not_told_apart():
    found, _ = attribute(log_probs=lambda *_: (-2.0, -1.0))
    assert found.finding is Finding.NO_SEPARATION
    assert [text.score for text in found.texts] == [0.0] * 5


def test_two_texts():
    found, _ = attribute(make_case(["truth", "lie"]))
    assert found.flagged == ("d2",)


def test_probabilities_of_zero_and_one_stay_finite():
    found, _ = attribute(
        log_probs=lambda passages, _: (0.0,) if "lie one" in passages else (-np.inf,)
    )
    assert found.flagged == ("d1",)
    assert np.isfinite([text.score for text in found.texts]).all()
