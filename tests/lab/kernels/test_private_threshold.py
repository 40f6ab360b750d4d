"""Thresholds drawn with noise: golden probabilities, samples that follow them, the guarantee."""

from math import exp, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from radarstream.lab.kernels.private_threshold import above_threshold, count_probabilities

FOUR = np.array([0.2, 0.4, 0.5, 0.7])
FIFTEEN = np.array(
    [0.72, 0.66, 0.61, 0.58, 0.55, 0.53, 0.50, 0.48, 0.47, 0.45, 0.44, 0.43, 0.42, 0.41, 0.40]
)
SAMPLES = 20_000
LEAST_EXPECTED = 5  # of a cell of a chi-square test; smaller ones are put together
scores = st.lists(st.floats(-1, 1), max_size=8).map(np.array)
# Similarities in hundredths: the middle between two is a place of its own, and some are equal.
corpora = st.lists(st.integers(-99, 99) | st.sampled_from([50, 51]), max_size=16)
epsilons = st.floats(0.01, 20.0)


def follows(counts: list[int], probabilities: np.ndarray) -> float:
    """The p value of counts under probabilities of 0, 1, ..., n."""
    expected = probabilities * len(counts)
    seen = np.bincount(counts, minlength=len(expected)).astype(float)
    rare = expected < LEAST_EXPECTED
    assert not seen[expected == 0.0].any()
    cells = [
        *zip(seen[~rare], expected[~rare], strict=True),
        (seen[rare].sum(), expected[rare].sum()),
    ]
    observed, hoped = zip(*[cell for cell in cells if cell[1] > 0.0], strict=True)
    return float(chisquare(observed, hoped).pvalue)


class TestExponential:
    def test_golden_four_scores(self):
        found = count_probabilities(FOUR, 2, 3.0)
        assert found[::-1] == pytest.approx(
            [0.226363, 0.169081, 0.378885, 0.169081, 0.056591], abs=1e-6
        )
        assert found @ np.arange(5) == pytest.approx(2.339544, abs=1e-6)

    def test_golden_fifteen_scores(self):
        found = count_probabilities(FIFTEEN, 5, 3.0)
        assert found[[5, 4, 6, 3, 7]] == pytest.approx(
            [0.5419, 0.1814, 0.1814, 0.0405, 0.0270], abs=5e-5
        )
        assert found @ np.arange(16) == pytest.approx(4.906302, abs=1e-6)

    def test_golden_off_by_two(self):
        """Two public programs, which want two fewer than they say."""
        five = count_probabilities(FIFTEEN, 3, 3.0)
        ten = count_probabilities(FIFTEEN, 8, 3.0)
        assert (five[3], five @ np.arange(16)) == pytest.approx((0.5422, 2.701), abs=5e-4)
        assert (ten[8], ten @ np.arange(16)) == pytest.approx((0.4668, 7.890), abs=5e-4)
        four = count_probabilities(FOUR, 0, 3.0)
        assert four[::-1] == pytest.approx(
            [0.008384, 0.006262, 0.014032, 0.125778, 0.845544], abs=1e-6
        )
        assert four @ np.arange(5) == pytest.approx(0.206, abs=5e-4)

    @pytest.mark.parametrize(("values", "k"), [(FOUR, 0), (FOUR, 2), (FIFTEEN, 5), (FIFTEEN, 3)])
    def test_samples_follow_the_probabilities(self, values: np.ndarray, k: int):
        rng = np.random.default_rng(k)
        counts = [int(above_threshold(values, k, 3.0, rng).sum()) for _ in range(SAMPLES)]
        expected = count_probabilities(values, k, 3.0)
        assert follows(counts, expected) > 0.001

    def test_the_chosen_are_the_highest(self):
        rng = np.random.default_rng(0)
        for _ in range(50):
            above = above_threshold(FIFTEEN, 5, 0.5, rng)
            assert not above.any() or FIFTEEN[above].min() > FIFTEEN[~above].max(initial=-1.0)

    def test_equal_scores_are_chosen_together(self):
        found = count_probabilities(np.full(4, 0.5), 2, 3.0)
        assert found == pytest.approx([0.25, 0, 0, 0, 0.75])

    def test_no_scores(self):
        assert count_probabilities(np.array([]), 3, 1.0).tolist() == [1.0]
        assert above_threshold(np.array([]), 3, 1.0, np.random.default_rng(0)).tolist() == []

    def test_more_wanted_than_there_are(self):
        """The utility is that of each number still; all are the most probable."""
        found = count_probabilities(np.array([0.5]), 5, 3.0)
        assert found == pytest.approx(np.array([0.5 * exp(-1.5), 1.5]) / (1.5 + 0.5 * exp(-1.5)))

    def test_narrow_bounds_take_from_the_ends(self):
        wide, narrow = (count_probabilities(FIFTEEN, 5, 3.0, b) for b in [(-1, 1), (-0.5, 0.8)])
        assert narrow[0] < wide[0]
        assert narrow[-1] < wide[-1]

    @settings(deadline=None)
    @given(corpora, st.integers(1, 10), epsilons, st.integers(-99, 99))
    def test_one_document_changes_no_density_of_the_threshold_by_more_than_epsilon(
        self, corpus, k, epsilon, another
    ):
        """Of neighbouring corpora, each the whole of its candidates, equal scores included."""
        more = [*corpus, another]
        ends = np.unique([*more, -100, 100]) / 100.0
        for middle in 0.5 * (ends[:-1] + ends[1:]):
            ratio = density(more, k, epsilon, middle) / density(corpus, k, epsilon, middle)
            assert abs(np.log(ratio)) <= epsilon + 1e-9

    @pytest.mark.parametrize("epsilon", [0.1, 3.0])
    def test_the_number_above_the_threshold_is_not_private(self, epsilon: float):
        """15 equal scores are kept or not together; with a nearer one, it may be kept alone."""
        fewer = count_probabilities(np.full(15, 0.5), 5, epsilon)
        more = count_probabilities(np.array([*[0.5] * 15, 0.9]), 5, epsilon)
        assert fewer[1] == 0.0 < more[1]

    @settings(deadline=None)
    @given(st.sets(st.integers(-99, 99), min_size=1, max_size=8), st.integers(1, 10))
    def test_without_noise_exactly_the_highest(self, values, k):
        distinct = np.array(sorted(values)) / 100.0
        for epsilon in (inf, 1e308, 1e5):
            above = above_threshold(distinct, k, epsilon, np.random.default_rng(0))
            assert np.flatnonzero(above).tolist() == list(range(len(distinct)))[-k:]

    @settings(deadline=None)
    @given(scores, st.integers(1, 10), epsilons)
    def test_probabilities(self, values, k, epsilon):
        found = count_probabilities(values, k, epsilon)
        assert found.shape == (len(values) + 1,)
        assert (found >= 0.0).all()
        assert found.sum() == pytest.approx(1.0)


def density(corpus: list[int], k: int, epsilon: float, threshold: float) -> float:
    """Of the threshold at a place that is no score, which are hundredths."""
    values = np.array(corpus) / 100.0
    falling = np.concatenate(([1.0], -np.sort(-values), [-1.0]))
    count = int((values > threshold).sum())
    return count_probabilities(values, k, epsilon)[count] / (falling[count] - falling[count + 1])
