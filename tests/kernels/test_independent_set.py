"""Branch and bound against enumeration: the heaviest set, and of equals the first in order."""

import itertools
import math
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.defenses.kernels.reliability import independent_set, rank_samples, rank_weights


def graph(n: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    edges = np.zeros((n, n), dtype=bool)
    for a, b in pairs:
        edges[a, b] = edges[b, a] = True
    return edges


def random_graph(rng: np.random.Generator, n: int, density: float) -> np.ndarray:
    upper = np.triu(rng.random((n, n)) < density, 1)
    return upper | upper.T


def vertices(edges: np.ndarray, weights: list[int] | None = None) -> tuple[int, ...]:
    return tuple(np.flatnonzero(independent_set(edges, weights)).tolist())


def independent(edges: np.ndarray, members: tuple[int, ...]) -> bool:
    return not edges[np.ix_(members, members)].any()


def enumerated_heaviest(edges: np.ndarray, weights: list[int]) -> tuple[int, ...]:
    """Heaviest, then the first list in which every vertex stands as often as it weighs."""
    n = len(edges)
    sets = [s for size in range(n + 1) for s in itertools.combinations(range(n), size)]
    return min(
        (s for s in sets if independent(edges, s)),
        key=lambda s: (-sum(weights[v] for v in s), [v for v in s for _ in range(weights[v])]),
    )


@st.composite
def weighted_graphs(draw: st.DrawFn) -> tuple[np.ndarray, list[int] | None]:
    n = draw(st.integers(0, 8))
    pairs = [pair for pair in itertools.combinations(range(n), 2) if draw(st.booleans())]
    weights = st.none() | st.lists(st.integers(1, 4), min_size=n, max_size=n)
    return graph(n, pairs), draw(weights)


@settings(max_examples=300)
@given(weighted_graphs())
def test_equals_brute_force(instance: tuple[np.ndarray, list[int] | None]):
    edges, weights = instance
    assert vertices(edges, weights) == enumerated_heaviest(edges, weights or [1] * len(edges))
    assert vertices(np.eye(3, dtype=bool)) == (0, 1, 2)


def test_malformed_graphs():
    for edges, weights in [
        (np.array([[False, True], [False, False]]), None), (np.zeros((2, 3), dtype=bool), None),
        (np.zeros((2, 2), dtype=bool), [1]), (np.zeros((2, 2), dtype=bool), [1, 0]),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match="edges|weights"):
            independent_set(edges, weights)


HARD = {
    "matching": graph(30, [(i, 29 - i) for i in range(15)]),
    "five-cycles": graph(
        30, [(6 * i + j, 6 * ((i + 1) % 5) + j) for i in range(5) for j in range(6)]
    ),
    "triangles": graph(
        30, [(a, b) for a, b in itertools.combinations(range(30), 2) if a % 10 == b % 10]
    ),
    "camps": graph(30, list(itertools.product(range(15), range(15, 30)))),
    "empty": graph(30, []),
    "complete": graph(30, list(itertools.combinations(range(30), 2))),
    **{
        f"random {density}": random_graph(np.random.default_rng(4), 30, density)
        for density in (0.03, 0.05, 0.1, 0.2, 0.4, 0.7)
    },
}


@pytest.mark.parametrize("name", HARD)
def test_thirty_vertices_take_no_time(name: str):
    """Far below a second, where 2**30 subsets would take hours; the set is maximal."""
    edges = HARD[name]
    started = process_time()
    chosen = independent_set(edges)
    assert process_time() - started < 1.0
    assert independent(edges, tuple(np.flatnonzero(chosen)))
    assert (chosen | edges[:, chosen].any(axis=1)).all()


# --- weights and chances of being drawn -----------------------------------------------------------


def chance(k: int, rank: int, size: int = 2) -> float:
    """That a rank is in one round, drawn with replacement."""
    return 1.0 - (1.0 - rank_weights(k, 0.9)[rank - 1]) ** size


def test_weights():
    assert rank_weights(10, 0.9)[[0, 9]] == pytest.approx([0.153534, 0.059482], abs=1e-6)
    weights = rank_weights(50, 0.9)
    assert weights[[0, 24, 49]] == pytest.approx([0.100518, 0.008018, 0.000576], abs=1e-6)
    assert weights[:10].sum() == pytest.approx(0.654696, abs=1e-6)
    np.testing.assert_allclose(rank_weights(4, 0.0), [0.4, 0.3, 0.2, 0.1])
    np.testing.assert_allclose(rank_weights(4, 1.0), [0.25] * 4)
    np.testing.assert_allclose(rank_weights(1, 0.9), [1.0])


def test_chance_of_a_poisoned_rank():
    for k, rank, in_a_round in [
        (50, 1, 0.190932), (50, 25, 0.015972), (50, 50, 0.001151), (10, 1, 0.283495),
        (10, 10, 0.115426),
    ]:  # fmt: skip
        assert chance(k, rank) == pytest.approx(in_a_round, abs=1e-6)
        samples = rank_samples(
            np.random.default_rng(1), rank_weights(k, 0.9), rounds=20_000, size=2, replacement=True
        )
        share = np.mean([rank - 1 in sample for sample in samples])
        assert share == pytest.approx(in_a_round, abs=4 * math.sqrt(in_a_round / 20_000))


@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0, 1e-9])
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize(("k", "size"), [(1, 2), (3, 5), (50, 4), (50, 45)])
def test_samples_are_ascending_sets(k: int, size: int, replacement: bool, gamma: float):
    weights = rank_weights(k, gamma)
    samples = rank_samples(
        np.random.default_rng(2), weights, rounds=30, size=size, replacement=replacement
    )
    assert len(samples) == 30
    for sample in samples:
        assert list(sample) == sorted(set(sample))
        assert set(sample) <= set(range(k))
        if not replacement:
            assert len(sample) == min(size, np.count_nonzero(weights))
