"""The noises that a study compares with that of a service: what is kept, by the formulas."""

from math import inf, sqrt

import numpy as np
import pytest
from scipy.stats import binomtest, kstest, laplace, norm

from radarstream.lab.service.policies import Gaussian, LegacyOffBy2, NoisyScores
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.verdict import Reason
from tests.builders import make_pool
from tests.driving import Script, run

FIFTEEN = [0.72, 0.66, 0.61, 0.58, 0.55, 0.53, 0.50, 0.48, 0.47, 0.45, 0.44, 0.43, 0.42, 0.41, 0.40]
SAMPLES = 2_000


def rerank(method, similarities=FIFTEEN, keep: int = 5) -> Reranking:
    texts = [f"text {place}" for place in range(len(similarities))]
    return run(method.rerank(make_pool(texts, similarities, keep=keep)), Script())


@pytest.mark.parametrize(("method", "kept"), [(NoisyScores, 5), (LegacyOffBy2, 3)])
def test_without_noise_the_nearest_are_kept(method, kept: int):
    found = rerank(method(epsilon=1e9))
    assert [c.found_rank for c in found.kept] == list(range(1, kept + 1))


@pytest.mark.parametrize(
    ("epsilon", "sigma"), [(1.0, 6.215), (2.0, 3.108), (3.0, 2.0717), (4.0, 1.5538)]
)
def test_golden_sigma(epsilon: float, sigma: float):
    assert Gaussian(epsilon).sigma == pytest.approx(sigma, abs=5e-4)


def test_golden_coin_flip():
    """None .4673, all .4711, anything between .0616, as the normal distribution has it."""
    ends = np.array([inf, *FIFTEEN, -inf])
    below = norm.cdf((ends - FIFTEEN[4]) / Gaussian(3.0).sigma)
    expected = below[:-1] - below[1:]
    assert expected[[0, -1]] == pytest.approx([0.4673, 0.4711], abs=5e-5)
    assert expected[1:-1].sum() == pytest.approx(0.0616, abs=5e-5)
    rng = np.random.default_rng(1)
    counts = [Gaussian(3.0).above(np.array(FIFTEEN), 5, rng).sum() for _ in range(SAMPLES)]
    for count in (0, 15):
        assert binomtest(counts.count(count), SAMPLES, expected[count]).pvalue > 0.001


def test_with_fewer_scores_than_wanted_the_lower_bound_is_moved():
    assert len(rerank(Gaussian(1e9), FIFTEEN[:4], keep=9).kept) == 4
    assert rerank(Gaussian(), [], keep=9).candidates == ()


def test_noise_on_scores_is_laplace_and_orders_by_them():
    """Of scale 2 * 2 * k / epsilon about each score, the same whatever the other candidates."""
    noise = []
    for seed in range(SAMPLES // 15):
        found = rerank(NoisyScores(3.0, seed=seed))
        scores = [c.score for c in found.candidates]
        assert scores == sorted(scores, reverse=True)
        assert {c.reason for c in found.dropped} == {Reason.OUTRANKED}
        by_rank = {c.found_rank: c.score - c.similarity for c in found.candidates}
        fewer = rerank(NoisyScores(3.0, seed=seed), FIFTEEN[:8])
        for c in fewer.candidates:
            assert c.score - c.similarity == pytest.approx(by_rank[c.found_rank])
        noise += by_rank.values()
    assert kstest(noise, laplace(scale=2 * 2 * 5 / 3.0).cdf).pvalue > 0.001


def test_off_by_two_keeps_two_fewer():
    """Exactly 3 of 5 with probability .5422, 2.701 expected."""
    rng = np.random.default_rng(3)
    counts = [LegacyOffBy2(3.0).above(np.array(FIFTEEN), 5, rng).sum() for _ in range(SAMPLES)]
    assert binomtest(counts.count(3), SAMPLES, 0.5422).pvalue > 0.001
    assert np.mean(counts) == pytest.approx(2.701, abs=4 * np.std(counts) / sqrt(SAMPLES))
