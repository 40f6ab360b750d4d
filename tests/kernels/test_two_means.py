"""2-means against enumeration and scikit-learn; degenerate points."""

import itertools

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler, normalize

from radarstream.defenses.kernels.two_means import MOST_EXACT, standardised, two_means, unit_rows


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def inertia(points: np.ndarray, split: np.ndarray) -> float:
    return sum(((points[m] - points[m].mean(axis=0)) ** 2).sum() for m in (split, ~split))


def smallest_inertia(points: np.ndarray) -> float:
    n = len(points)
    masks = (np.array(m, dtype=bool) for m in itertools.product([False, True], repeat=n))
    return min(inertia(points, m) for m in masks if m.any() and not m.all())


def test_few_points_are_split_exactly():
    for seed in range(60):
        points = rng(seed).standard_normal((int(rng(seed).integers(2, 9)), 3))
        split = two_means(points, rng())
        assert not split[0]
        assert split.any()
        assert inertia(points, split) == pytest.approx(smallest_inertia(points))


@pytest.mark.parametrize("n", [MOST_EXACT, MOST_EXACT + 1, 50])
def test_as_good_as_scikit_learn(n: int):
    for seed in range(8):
        points = rng(seed).standard_normal((n, 6)) + 2.0 * (np.arange(n) % 3 == 0)[:, None]
        theirs = KMeans(2, n_init=10, random_state=seed).fit(points)
        assert inertia(points, two_means(points, rng(seed))) <= theirs.inertia_ * 1.01


@pytest.mark.parametrize("n", [2, 12, 13, 50])
def test_equal_points_leave_the_last_alone(n: int):
    """Rounding must not decide: every split of equal points is as good."""
    points = np.tile(rng().standard_normal(7), (n, 1))
    assert np.flatnonzero(two_means(points, rng())).tolist() == [n - 1]


@pytest.mark.parametrize("angle", np.linspace(0.1, 1.5, 15))
def test_rounding_does_not_decide_between_equally_good_splits(angle: float):
    """A square splits along either middle; turned in the plane it still splits the same way."""
    turns = angle + np.arange(4) * np.pi / 2
    square = np.stack((np.cos(turns), np.sin(turns)), axis=1)
    assert two_means(square, rng()).tolist() == [False, False, True, True]


def test_standardised_equals_scikit_learn():
    points = rng(5).standard_normal((9, 4))
    points[:, 2] = 0.3
    expected = normalize(StandardScaler().fit_transform(points))
    np.testing.assert_allclose(standardised(points), expected, atol=1e-12)
    assert (standardised(points)[:, 2] == 0.0).all()
    assert (standardised(np.ones((3, 2))) == 0.0).all()
    np.testing.assert_array_equal(
        unit_rows(np.array([[0.0, 0.0], [3.0, 4.0]])), [[0, 0], [0.6, 0.8]]
    )
