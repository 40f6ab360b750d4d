"""Min-cut against brute force over all labellings."""

import itertools
import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ortools.graph.python import max_flow

from radarstream.defenses.kernels.min_cut import (
    energy,
    error_bound,
    flip_margins,
    min_cut,
    scaling_bits,
)

EIGHTHS = 8  # capacities in eighths are exact in float and in the solver, and tie often


@dataclass(frozen=True)
class Instance:
    source: np.ndarray
    sink: np.ndarray
    pair: np.ndarray

    @property
    def n(self) -> int:
        return len(self.source)

    def scaled(self, factor: float) -> "Instance":
        return Instance(self.source * factor, self.sink * factor, self.pair * factor)


def solve(instance: Instance):
    return min_cut(instance.source, instance.sink, instance.pair)


def instance_from(n: int, values: list[float]) -> Instance:
    pair = np.zeros((n, n))
    pair[np.triu_indices(n, 1)] = values[2 * n :]
    return Instance(np.array(values[:n]), np.array(values[n : 2 * n]), pair + pair.T)


@st.composite
def instances(draw: st.DrawFn, exact: bool = True, largest: int = 6) -> Instance:
    n = draw(st.integers(0, largest))
    value = st.integers(0, EIGHTHS).map(lambda v: v / EIGHTHS) if exact else st.floats(0.0, 1.0)
    size = 2 * n + n * (n - 1) // 2
    return instance_from(n, draw(st.lists(value, min_size=size, max_size=size)))


def brute_force(instance: Instance) -> tuple[float, np.ndarray, np.ndarray]:
    """Least energy, the intersection of all minimisers, and every labelling's energy."""
    labels = np.array(list(itertools.product([False, True], repeat=instance.n)), dtype=bool)
    labels = labels.reshape(2**instance.n, instance.n)
    upper = np.triu(instance.pair, 1)
    energies = labels @ instance.sink + ~labels @ instance.source
    for i, j in zip(*np.nonzero(upper), strict=True):
        energies = energies + upper[i, j] * (labels[:, i] != labels[:, j])
    return energies.min(), labels[energies == energies.min()].all(axis=0), energies


@given(instances())
def test_least_energy_and_fewest_nodes_of_all_labellings(instance: Instance):
    least, intersection, _ = brute_force(instance)
    cut = solve(instance)
    assert cut.energy == least
    assert cut.kept.tolist() == intersection.tolist()


def test_a_thousand_random_instances_of_up_to_ten_nodes():
    rng = np.random.default_rng(20250601)
    for _ in range(1000):
        n = int(rng.integers(1, 11))
        instance = instance_from(n, rng.random(2 * n + n * (n - 1) // 2).tolist())
        least, intersection, energies = brute_force(instance)
        cut = solve(instance)
        assert least - 1e-12 <= cut.energy <= least + cut.error_bound
        gap = np.partition(energies, 1)[1] - least
        if gap > cut.error_bound:
            assert cut.kept.tolist() == intersection.tolist()


@given(instances(exact=False), st.integers(-900, 900))
def test_scaling_by_a_power_of_two_changes_no_label(instance: Instance, exponent: int):
    """Resolution follows the largest capacity; subnormal capacities are left out."""
    tiny = np.concatenate([instance.source, instance.sink, instance.pair.ravel()])
    if np.any((tiny > 0) & (tiny < 1e-20)):
        return
    scaled = solve(instance.scaled(2.0**exponent))
    plain = solve(instance)
    assert scaled.kept.tolist() == plain.kept.tolist()
    assert scaled.energy == plain.energy * 2.0**exponent
    assert scaled.error_bound == plain.error_bound * 2.0**exponent


@given(instances(), st.data())
def test_margin_is_the_energy_of_changing_sides_alone(instance: Instance, data: st.DataObject):
    bits = st.lists(st.booleans(), min_size=instance.n, max_size=instance.n)
    labels = np.array(data.draw(bits), dtype=bool)
    margins = flip_margins(labels, instance.source, instance.sink, instance.pair)
    before = energy(labels, instance.source, instance.sink, instance.pair)
    for node in range(instance.n):
        flipped = labels.copy()
        flipped[node] = not flipped[node]
        after = energy(flipped, instance.source, instance.sink, instance.pair)
        assert margins[node] == after - before


def test_the_diagonal_is_ignored():
    pair = np.array([[0.0, 0.125], [0.125, 0.0]])
    source, sink = np.array([1.0, 0.25]), np.array([0.5, 1.0])
    plain = min_cut(source, sink, pair)
    cut = min_cut(source, sink, pair + np.diag([1e12, 3.0]))
    assert (cut.kept.tolist(), cut.energy) == ([True, False], plain.energy)
    assert cut.error_bound == plain.error_bound


class TestScaling:
    @pytest.mark.parametrize(
        ("n", "bits", "bound"), [(11, 24, 3.9339e-6), (51, 24, 7.9036e-5), (51, 30, 1.2349e-6)]
    )
    def test_error_bound(self, n: int, bits: int, bound: float):
        assert error_bound(n, bits) == pytest.approx(bound, rel=1e-4)

    @given(st.floats(5e-324, 1e300), st.integers(1, 10**6))
    def test_all_capacities_together_fit_int64(self, largest: float, n: int):
        assert int(np.ldexp(largest, scaling_bits(largest, n))) * n * (n + 1) < 2**63

    @pytest.mark.parametrize("largest", [5e-324, 1e-310, 1e-300, 1e300, 2e307])
    def test_the_smallest_and_largest_floats(self, largest: float):
        pair = np.zeros((3, 3))
        pair[0, 1] = pair[1, 0] = largest
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            cut = min_cut(np.array([largest, 0.0, largest]), np.zeros(3), pair)
        assert (cut.kept.tolist(), cut.energy) == ([True, True, True], 0.0)


class TestRefusals:
    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -1e-300])
    @pytest.mark.parametrize("name", ["source", "sink", "pair"])
    def test_capacities_must_be_finite_and_not_negative(self, name: str, bad: float):
        arrays = {"source": np.ones(2), "sink": np.ones(2), "pair": np.ones((2, 2))}
        arrays[name].flat[1] = bad
        arrays["pair"][1, 0] = arrays["pair"][0, 1]
        with pytest.raises(ValueError, match=name):
            min_cut(**arrays)
        with pytest.raises(ValueError, match="pair"):
            min_cut(np.ones(2), np.ones(2), np.diag([bad, 0.0]))

    def test_shapes_must_fit_and_pairs_be_symmetric(self):
        for source, sink, pair in [(2, 3, (2, 2)), (2, 2, (2, 3)), (2, 2, (4,))]:
            with pytest.raises(ValueError, match="shape"):
                min_cut(np.ones(source), np.ones(sink), np.ones(pair))
        with pytest.raises(ValueError, match="symmetric"):
            min_cut(np.ones(2), np.ones(2), np.array([[0.0, 1.0], [0.5, 0.0]]))

    def test_a_flow_that_does_not_certify_the_labels_raises(self, monkeypatch):
        class Lying(max_flow.SimpleMaxFlow):
            def optimal_flow(self) -> int:
                return super().optimal_flow() + 1000

        monkeypatch.setattr(max_flow, "SimpleMaxFlow", Lying)
        with pytest.raises(ArithmeticError, match="differ"):
            min_cut(np.array([0.5]), np.array([0.5]), np.zeros((1, 1)))  # a tie is never clear
