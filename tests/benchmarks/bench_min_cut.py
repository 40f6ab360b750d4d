"""Min-cut with graph building: the kernel against PyMaxflow and networkx on the same capacities.

Each solver is given arrays and builds its graph in the fastest way it offers. The capacities are
those that RADAR makes of k documents in four camps, with the memory as one more node. The kernel
settles these without its solver; with one document tied it cannot.
"""

from dataclasses import replace
from functools import lru_cache

import maxflow
import networkx as nx
import numpy as np
import pytest

from radarstream.defenses.cut_graph import Graph, Recalled, informative_answers
from radarstream.defenses.kernels.min_cut import MinCut, energy, min_cut, scaling_bits
from radarstream.defenses.radar import Radar
from radarstream.schemas.memory import Belief
from tests.benchmarks.figures import Figures
from tests.benchmarks.timing import interleaved
from tests.builders import make_evidence

pytestmark = pytest.mark.bench

CAMPS = (0.5, 0.3, 0.1, 0.1)  # shares: truth, a planted falsehood, two stray answers
LEAK = 0.003  # entailment that a scorer sees between different answers
ROUNDS = {10: (400, 100), 50: (200, 20), 200: (40, 3)}  # k: instances; those networkx gets
TARGET_MS = {10: 0.05, 50: 0.1}
TARGET_RATIO = {10: 1 / 1.5, 50: 1 / 1.5}  # at most 1.5 times PyMaxflow's time
FLOAT_ERROR = 1e-9


def capacities(k: int, seed: int) -> Graph:
    """What RADAR makes of k noisy answers, the previous answer being the truth."""
    rng = np.random.default_rng((k, seed))
    sizes = [round(share * k) for share in CAMPS]
    camp = rng.permutation(np.repeat(np.arange(len(CAMPS)), sizes))
    same = camp[:, None] == camp
    entailment = np.where(same, rng.beta(12, 2, (k, k)), LEAK * rng.random((k, k)))
    contradiction = np.where(same, LEAK * rng.random((k, k)), rng.beta(8, 3, (k, k)))
    evidence = make_evidence(entailment, contradiction)
    radar = Radar()
    true = camp == 0
    recalled = Recalled(
        Belief("the truth", support=0.6, conflict=0.3),
        np.where(true, rng.beta(12, 2, k), LEAK * rng.random(k)),
        np.where(true, LEAK * rng.random(k), rng.beta(8, 3, k)),
    )
    return radar.build_graph(evidence, informative_answers(evidence), recalled)


def with_a_tie(graph: Graph) -> Graph:
    """The same with as much for the first document as against it, and no bonds of its own."""
    source, sink, pair = graph.source.copy(), graph.sink.copy(), graph.pair.copy()
    source[0] = sink[0] = 0.5
    pair[0] = pair[:, 0] = 0.0
    return replace(graph, source=source, sink=sink, pair=pair)


def by_kernel(graph: Graph) -> MinCut:
    return min_cut(graph.source, graph.sink, graph.pair)


@lru_cache
def pairs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Kept between calls, as the kernel keeps its own."""
    return np.triu_indices(n, 1)


def by_pymaxflow(graph: Graph) -> tuple[float, np.ndarray]:
    """Flow and source side."""
    n = len(graph.nodes)
    rows, columns = pairs(n)
    between = graph.pair[rows, columns]
    solver = maxflow.GraphFloat(n, len(rows))
    nodes = solver.add_nodes(n)
    solver.add_grid_tedges(nodes, graph.source, graph.sink)
    solver.add_edges(rows, columns, between, between)
    flow = solver.maxflow()
    return flow, ~solver.get_grid_segments(nodes)


def by_networkx(graph: Graph) -> tuple[float, np.ndarray]:
    """Flow and source side by networkx's default algorithm, in integers as its manual advises."""
    n = len(graph.nodes)
    terminals = max(graph.source.max(), graph.sink.max())
    bits = scaling_bits(float(max(terminals, graph.pair.max())), n)
    source, sink, pair = (
        np.rint(np.ldexp(values, bits)).astype(int).tolist()
        for values in (graph.source, graph.sink, graph.pair)
    )
    solver = nx.DiGraph()
    solver.add_weighted_edges_from((("s", i, source[i]) for i in range(n)), "capacity")
    solver.add_weighted_edges_from(((i, "t", sink[i]) for i in range(n)), "capacity")
    arcs = ((i, j, pair[i][j]) for i in range(n) for j in range(n) if i != j)
    solver.add_weighted_edges_from(arcs, "capacity")
    flow, (kept, _) = nx.minimum_cut(solver, "s", "t")
    return float(np.ldexp(flow, -bits)), np.isin(np.arange(n), [i for i in kept if i != "s"])


def check_agreement(graph: Graph, *results: tuple[float, np.ndarray]) -> None:
    """Every flow, and the energy of every solver's labels, is the kernel's energy."""
    cut = by_kernel(graph)
    assert 0 < cut.kept.sum() < len(graph.nodes), "the instance is trivial"
    for flow, kept in results:
        labelled = energy(kept, graph.source, graph.sink, graph.pair)
        assert flow == pytest.approx(cut.energy, abs=cut.error_bound + FLOAT_ERROR)
        assert labelled == pytest.approx(cut.energy, abs=cut.error_bound + FLOAT_ERROR)


@pytest.mark.parametrize("k", ROUNDS)
def test_min_cut(figures: Figures, k: int) -> None:
    count, few = ROUNDS[k]
    graphs = [capacities(k, seed) for seed in range(count)]
    for graph in graphs[:few]:
        check_agreement(graph, by_pymaxflow(graph), by_networkx(graph))
    for graph in graphs[few:]:
        check_agreement(graph, by_pymaxflow(graph))

    seconds = interleaved({"kernel": by_kernel, "PyMaxflow": by_pymaxflow}, graphs)
    # Not in turns with the others: it would leave them cold caches.
    seconds |= interleaved({"networkx": by_networkx}, graphs[:few])
    kernel = seconds.pop("kernel")
    target = ("<=", TARGET_MS[k]) if k in TARGET_MS else None
    figures.add(f"min-cut, k={k}", kernel * 1e3, "ms", target)
    for solver, median in seconds.items():
        figures.add(f"min-cut, k={k}, {solver}", median * 1e3, "ms")
        limited = solver == "PyMaxflow" and k in TARGET_RATIO
        target = (">=", TARGET_RATIO[k]) if limited else None
        figures.add(f"min-cut, k={k}, {solver} / ours", median / kernel, "times", target)


@pytest.mark.parametrize("k", ROUNDS)
def test_min_cut_with_a_tie(figures: Figures, k: int) -> None:
    graphs = [with_a_tie(capacities(k, seed)) for seed in range(ROUNDS[k][0])]
    for graph in graphs:
        assert not by_kernel(graph).kept[0]
        check_agreement(graph, by_pymaxflow(graph))
    seconds = interleaved({"kernel": by_kernel, "PyMaxflow": by_pymaxflow}, graphs)
    figures.add(f"min-cut with a tie, k={k}", seconds["kernel"] * 1e3, "ms")
    ratio = seconds["PyMaxflow"] / seconds["kernel"]
    figures.add(f"min-cut with a tie, k={k}, PyMaxflow / ours", ratio, "times")
