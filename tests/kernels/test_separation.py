"""Whether two groups could be chance: the level of the test on noise, its power, its symmetries."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.kernels.responsibility import (
    chance_of_separation,
    explained,
    split_in_two,
    standard_scores,
)


def two_groups(upper: int, lower: int, apart: float, seed: int) -> np.ndarray:
    """Three noisy scores that agree which texts are the upper ones, (3, n)."""
    noise = np.random.default_rng(seed).standard_normal((3, upper + lower))
    return noise + apart * (np.arange(upper + lower) < upper)


@given(st.lists(st.floats(-100, 100, width=32), min_size=2, max_size=12))
def test_explained_is_what_the_split_leaves(numbers: list[float]) -> None:
    values = np.array(numbers)
    split = split_in_two(values)
    whole = float(((values - values.mean()) ** 2).sum())
    left = whole if split is None else split.error
    assert explained(values[np.newaxis])[0] == pytest.approx(whole - left, abs=1e-6 * (1 + whole))


def test_every_shuffle_counted_by_hand() -> None:
    """Of 3 x 3 texts one stands out in both rows: so do 1 in 3 of all shuffles."""
    rows = np.array([[5.0, 0.0, 0.0], [7.0, 1.0, 1.0]])
    clear = [
        explained((standard_scores(rows[0]) + standard_scores(np.array(order)))[np.newaxis])[0]
        for order in itertools.permutations(rows[1])
    ]
    exact = np.mean(np.array(clear) >= max(clear) - 1e-9)
    assert exact == pytest.approx(1 / 3)
    assert chance_of_separation(rows) == pytest.approx(exact, abs=0.05)


@pytest.mark.parametrize("n", [5, 10, 20])
def test_noise_rarely_stands_out(n: int) -> None:
    """Of 60 sets without any structure 3 may fall below 0.05; 9 is more than three deviations above
    that. By the distance of the groups alone, half of them and more stand out.
    """
    clear = chances = 0
    for seed in range(60):
        rows = np.random.default_rng((n, seed)).standard_normal((3, n))
        split = split_in_two(np.mean([standard_scores(row) for row in rows], axis=0))
        clear += split.gap >= 1.0
        chances += chance_of_separation(rows) <= 0.05
    assert clear > 25
    assert chances < 9


@pytest.mark.parametrize(("upper", "lower"), [(5, 5), (5, 25), (1, 9)])
def test_planted_texts_stand_out(upper: int, lower: int) -> None:
    found = [chance_of_separation(two_groups(upper, lower, 6.0, seed)) for seed in range(10)]
    assert max(found) <= 0.05


def test_few_texts_orders_units_and_rows_without_scores() -> None:
    assert chance_of_separation(np.tile([9.0, 0.0, 0.1, 0.2], (3, 1))) > 0.05
    assert chance_of_separation(np.tile([9.0, 0.0, 0.1, 0.2, 0.3], (3, 1))) <= 0.05
    # No chance is 0, and the least is 1 in 5,000: scores that agree on 30 texts entirely.
    assert chance_of_separation(np.tile(np.arange(30.0) ** 3, (3, 1))) == 1 / 5_000
    rows = two_groups(3, 7, 2.0, seed=1)
    chance = chance_of_separation(rows)
    order = np.random.default_rng(0).permutation(10)
    assert chance_of_separation(rows[:, order]) == chance
    assert chance_of_separation(rows * [[2.0], [1.0], [9.0]] + 4.0) == chance
    for rows in [
        np.zeros((3, 0)), np.zeros((3, 1)), np.zeros((3, 5)), np.zeros((0, 5)),
        np.array([[9.0, 9.0, 0.0, 0.0, 0.0]]),
    ]:  # fmt: skip
        assert chance_of_separation(rows) == 1.0
    with pytest.raises(ValueError, match=r"score \[1\] = nan"):
        chance_of_separation(np.array([[1.0, np.nan], [1.0, 2.0]]))
