import numpy as np
import pytest

from radarstream.defenses.kernels.reliability import uncontradicted


def selected(n: int, pairs: list[tuple[int, int]]) -> list[int]:
    contradicts = np.zeros((n, n), dtype=bool)
    for better, worse in pairs:
        contradicts[better - 1, worse - 1] = True
    return (np.flatnonzero(uncontradicted(contradicts)) + 1).tolist()


@pytest.mark.parametrize(
    ("n", "pairs", "expected"),
    [
        (0, [], []),
        (1, [], [1]),
        (2, [(1, 2)], [1]),  # degree 1 is not more than half of two
        (3, [], [1, 2, 3]),
        (3, [(1, 2), (1, 3)], [2, 3]),
        (5, [(1, 2), (1, 3)], [1, 4, 5]),  # degree 2 is not more than half of five, rounded down
        # 2 goes (4 > 3), whereupon 1 contradicts two of five.
        (6, [(2, b) for b in (3, 4, 5, 6)] + [(1, b) for b in (2, 3, 4)], [1, 5, 6]),
        # 1 goes (4 > 3), then 2 (3 > 2); 3 contradicts no more than half of the rest.
        (6, [(1, b) for b in (2, 3, 4, 5)] + [(2, b) for b in (3, 4, 5)] + [(3, 6)], [3, 4, 5]),
    ],
)
def test_worked_examples(n: int, pairs: list[tuple[int, int]], expected: list[int]):
    assert selected(n, pairs) == expected


def test_contradiction_of_a_better_vertex_is_not_read():
    assert selected(2, [(2, 1)]) == [1, 2]


def test_something_is_always_selected():
    rng = np.random.default_rng(8)
    for _ in range(200):
        n = int(rng.integers(1, 12))
        assert uncontradicted(rng.random((n, n)) < rng.random()).any()
