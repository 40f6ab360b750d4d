"""Exact minimisation of a binary energy by one s-t min-cut.

Every node i is labelled kept (y_i = 1, source side) or rejected (y_i = 0, sink side) so that

    E(y) = sum_i [y_i F_i + (1 - y_i) S_i] + sum_{i<j} M_ij |y_i - y_j|

is least (RADAR, Eq. 3-5, 9 and 18). S are the source capacities, F the sink capacities and M the
symmetric pair capacities; each unordered pair counts once.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from ortools.graph.python import max_flow

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

RESOLUTION_BITS = 30  # the largest capacity becomes an integer just below 2**30
INT64_BITS = 62  # the sum of all capacities stays below 2**62, so that no flow overflows


@dataclass(frozen=True, eq=False)
class MinCut:
    """A minimum cut.

    `kept` is the (n,) mask of the source side, `energy` is E(kept) in float64; the true minimum is
    at most `error_bound` less.
    """

    kept: BoolArray
    energy: float
    error_bound: float


def min_cut(source: FloatArray, sink: FloatArray, pair: FloatArray) -> MinCut:
    """Find the minimum cut that keeps the fewest nodes.

    Its source side is the set of nodes reachable from s in the residual graph. It is unique, so
    that the result does not depend on the solver; a tied node is rejected, because trust needs
    S > F.

    The solver rounds capacities to multiples of 1/K, where K is a power of two that depends on the
    largest capacity. A cut is a sum of at most n(n+1)/2 capacities, each with an error of at most
    1/(2K). So two labellings may be exchanged if their energies differ by less than `error_bound`.

    `source` and `sink` are (n,), `pair` is (n, n) and symmetric, its diagonal is ignored; all are
    finite and >= 0, and n = 0 is allowed. Raises ValueError for anything else, ArithmeticError if
    the solver fails or its flow is not the energy of its labels. Takes O(n^3) time.

    >>> two_agree = np.array([[0.0, 0.8], [0.8, 0.0]])
    >>> min_cut(np.array([0.7, 0.1]), np.array([0.0, 0.2]), two_agree).kept
    array([ True,  True])
    """
    n = len(source)
    if not source.shape == sink.shape == (n,) or pair.shape != (n, n):
        _check(source, sink, pair)
    if n == 0:
        return MinCut(np.zeros(0, dtype=np.bool_), 0.0, 0.0)
    if np.count_nonzero(pair.diagonal()):
        _check(source, sink, pair)
        pair = np.where(np.eye(n, dtype=np.bool_), 0.0, pair)
    capacities = np.concatenate((source, sink, pair.ravel()))
    largest = float(capacities[capacities.argmax()])  # faster than max() for small arrays
    sound = capacities[capacities.argmin()] >= 0.0 and largest * len(capacities) < np.inf
    if not sound or pair.tobytes() != pair.T.tobytes():  # perhaps only -0.0 against 0.0
        _check(source, sink, pair)

    if largest == 0.0:
        return MinCut(np.zeros(n, dtype=np.bool_), 0.0, 0.0)
    bits = scaling_bits(largest, n)
    kept, flow = _solved(capacities, n, bits)
    value = energy(kept, source, sink, pair)
    gap = abs(flow - math.ldexp(value, bits))
    if gap > n * (n + 1) / 4:
        raise ArithmeticError(f"flow and cut energy differ by {gap} integer units at n = {n}")
    return MinCut(kept, value, error_bound(n, bits))


def _solved(capacities: FloatArray, n: int, bits: int) -> tuple[BoolArray, int]:
    """Solve for the minimal source side of rounded capacities (S, F, rows of M), and the flow."""
    tails, heads, places = _arcs(n)
    units = np.rint(np.ldexp(capacities, bits)).astype(np.int64)
    solver = max_flow.SimpleMaxFlow()
    solver.add_arcs_with_capacity(tails, heads, units[places])
    status = solver.solve(n, n + 1)
    if status != solver.OPTIMAL:
        raise ArithmeticError(f"max-flow solver returned {status}")
    reachable = np.zeros(n + 1, dtype=np.bool_)
    reachable[solver.get_source_side_min_cut()] = True
    return reachable[:n], solver.optimal_flow()


def energy(labels: BoolArray, source: FloatArray, sink: FloatArray, pair: FloatArray) -> float:
    """Return E(labels) in float64 (RADAR, Eq. 3-5)."""
    kept, rejected = labels.astype(np.float64), (~labels).astype(np.float64)
    return float(kept.dot(sink) + rejected.dot(source) + kept.dot(pair.dot(rejected)))


def flip_margins(
    labels: BoolArray, source: FloatArray, sink: FloatArray, pair: FloatArray
) -> FloatArray:
    """Return (n,) by how much the energy rises if one node changes sides; 0 = a tie."""
    sign = np.where(labels, 1.0, -1.0)
    pull = pair @ sign - np.diagonal(pair) * sign
    return np.asarray(sign * (source - sink + pull))


def scaling_bits(largest: float, n: int) -> int:
    """Return log2 K for n nodes whose largest capacity is `largest` > 0."""
    _, exponent = math.frexp(largest)
    resolution = min(RESOLUTION_BITS, INT64_BITS - (n * (n + 1)).bit_length())
    return resolution - exponent


def error_bound(n: int, bits: int) -> float:
    """Return n(n+1)/(2K), K = 2**bits: the largest excess of the rounded optimum over the true."""
    return math.ldexp(n * (n + 1) / 2, -bits)


@lru_cache(maxsize=128)
def _arcs(n: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.intp]]:
    """Return the arcs s->i, i->t, i->j and j->i, with s = n, t = n + 1 and i < j: tails, heads, and
    the place of each capacity among S, F and the rows of M.
    """
    nodes = np.arange(n)
    rows, columns = np.triu_indices(n, 1)
    tails = np.concatenate((np.full(n, n), nodes, rows, columns)).astype(np.int32)
    heads = np.concatenate((nodes, np.full(n, n + 1), columns, rows)).astype(np.int32)
    pairs = 2 * n + n * rows + columns
    places = np.concatenate((np.arange(2 * n), pairs, pairs))
    for array in (tails, heads, places):
        array.flags.writeable = False
    return tails, heads, places


def _check(source: FloatArray, sink: FloatArray, pair: FloatArray) -> None:
    """Raise ValueError with the place of the first wrong capacity, if any."""
    n = len(source)
    for name, array, shape in (
        ("source", source, (n,)),
        ("sink", sink, (n,)),
        ("pair", pair, (n, n)),
    ):
        if array.shape != shape:
            raise ValueError(f"{name} capacities must have shape {shape}, got {array.shape}")
        if n and not (array.min() >= 0.0 and np.isfinite(array.sum())):
            bad = np.argwhere(~(np.isfinite(array) & (array >= 0.0)))
            where = bad[0].tolist() if len(bad) else "their sum"
            raise ValueError(f"{name} capacities must be finite and >= 0; see {where}")
    if not np.array_equal(pair, pair.T):
        raise ValueError("pair capacities must be symmetric")
