"""Which documents RADAR's cut keeps, whatever documents an attacker puts beside or in their place.

Everything is bounded from what a verdict tells: ranks, entailments, reject-evidence and the memory.
Single contradictions are not known, only their weighted mean. `docs/certificates.md` has the proof.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.min_cut import min_cut
from radarstream.defenses.kernels.radar import (
    EQUAL,
    NO_WEIGHT,
    bayes,
    eigenvector_centrality,
    rescaled,
)

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

CLOSE = 0.5  # answers that entail each other at least so much make one claim
AGREEMENT = 0.05  # an added document entails none that supports the answer by more
SLACK = 1e-4  # more than both solvers may err
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class MemoryNode:
    """The previous answer as a node: priors, consistency with each document (n,), and the sum of
    its conflicts. It `supports` the answer if it was retained, else it opposes it.
    """

    support: float
    conflict: float
    consistency: FloatArray
    conflicts: float
    supports: bool


@dataclass(frozen=True, eq=False)
class CutInstance:
    """What RADAR judged: n informative documents of `retrieved` ones.

    `ranks` and `reject` (F_i) are (n,), `consistency` (n, n) is M, symmetric with a zero diagonal;
    `camp` is the (n,) mask of the documents that support the answer.
    """

    ranks: NDArray[np.int_]
    retrieved: int
    consistency: FloatArray
    reject: FloatArray
    camp: BoolArray
    memory: MemoryNode | None
    pair_scale: float = 1.0
    epsilon: float = 0.01
    iterations: int = 10
    delta: float = 1e-8

    @property
    def n(self) -> int:
        """How many documents are informative."""
        return len(self.ranks)

    @cached_property
    def present(self) -> FloatArray:
        """The centrality of the documents as they are, (n,)."""
        return self.centrality(self.consistency)

    @cached_property
    def close(self) -> BoolArray:
        """Which documents make the same claim, (n, n), the diagonal included."""
        return np.asarray((self.consistency >= CLOSE) | np.eye(self.n, dtype=np.bool_))

    @cached_property
    def contradictions(self) -> "Contradictions":
        """What F tells of the contradictions between the present documents."""
        n = self.n
        others = 1.0 - np.eye(n)
        weights = others * self.present
        weightless = weights.sum(axis=1) < NO_WEIGHT
        weights[weightless] = others[weightless]
        room = np.clip(others - self.consistency, 0.0, 1.0)
        budget = self.reject * weights.sum(axis=1)
        improper = budget > (room * weights).sum(axis=1) + ROUNDING
        room[improper] = others[improper]
        return Contradictions(budget, weights, room, np.zeros(n))

    def centrality(self, consistency: FloatArray) -> FloatArray:
        """RADAR's, in [0, 1]."""
        raw = eigenvector_centrality(
            consistency, epsilon=self.epsilon, iterations=self.iterations, delta=self.delta
        )
        return rescaled(raw, delta=self.delta)


@dataclass(frozen=True, eq=False)
class Contradictions:
    """Unknown contradictions C of which something is known:
    0 <= C_ij <= room_ij, and sum_j C_ij weights_ij is in [budget_i - gone_i, budget_i].

    `budget` and `gone` are (n,), `weights` and `room` are (n, n).
    """

    budget: FloatArray
    weights: FloatArray
    room: FloatArray
    gone: FloatArray

    @cached_property
    def size(self) -> FloatArray:
        """The most that each contradiction can take from the budget, (n, n)."""
        return self.weights * self.room

    @cached_property
    def free(self) -> BoolArray:
        """Which contradictions take nothing from it, (n, n)."""
        return np.asarray(self.weights <= NO_WEIGHT)

    @cached_property
    def divisors(self) -> FloatArray:
        """The weights, infinite where they are free: (1, n) if the same for all, else (n, n).

        With themselves documents have none, but no room either.
        """
        shared = self.weights.max(axis=0, initial=0.0)[None, :]
        alike = (self.weights == shared) | np.eye(len(self.weights), dtype=np.bool_)
        weights = shared if alike.all() else self.weights
        return np.where(weights <= NO_WEIGHT, np.inf, weights)

    def among(self, kept: BoolArray) -> "Contradictions":
        """What is known of those between the documents kept."""
        if kept.all():
            return self
        inside = np.ix_(kept, kept)
        gone = self.gone[kept] + self.size[np.ix_(kept, ~kept)].sum(axis=1)
        return Contradictions(self.budget[kept], self.weights[inside], self.room[inside], gone)

    def sums(self, values: FloatArray, *, largest: bool) -> FloatArray:
        """Largest (or smallest) sum_j C_ij values_j, (n,).

        `values` are (n,) or (n, n). A fractional knapsack: the best ratios are taken first.
        """
        budget = self.budget + (ROUNDING if largest else -ROUNDING - self.gone)
        ratio = values / self.divisors
        order = np.argsort(-ratio if largest else ratio, axis=1, kind="stable")
        rows = np.arange(len(budget))[:, None]
        size = self.size[rows, order]
        taken = np.clip(budget[:, None] - (np.cumsum(size, axis=1) - size), 0.0, size)
        total = (taken * np.take_along_axis(ratio, order, axis=1)).sum(axis=1)
        if largest:
            total = total + np.where(self.free, self.room * values, 0.0).sum(axis=1)
        return np.asarray(total)


@dataclass(frozen=True, eq=False)
class Intrusion:
    """`added` documents come in at the top ranks; those of the mask `gone` (n,) go for them.

    If they come `beside` the present ones, nothing goes and more is retrieved.
    """

    gone: BoolArray
    added: int
    beside: bool

    @property
    def stay(self) -> BoolArray:
        """Who is still there."""
        return ~self.gone


@dataclass(frozen=True, eq=False)
class CentralityBounds:
    """Least and largest centrality of the documents that stay, (s,), and the largest of an added
    one, whatever up to so many added documents entail.
    """

    least: FloatArray
    most: FloatArray
    added: float


def centrality_bounds(instance: CutInstance, stay: BoolArray, added: int) -> CentralityBounds:
    """Bounds by running the power iteration with no and with all entailments of added documents.

    All weights are >= 0, so each step keeps "at most" and "at least"; both runs are scaled alike.
    """
    weights = instance.consistency[np.ix_(stay, stay)]
    matrix = weights + instance.epsilon * np.eye(len(weights))
    entailed = np.where(instance.camp[stay], AGREEMENT, 1.0)
    low, high, new = np.ones(len(weights)), np.ones(len(weights)), 1.0
    for _ in range(instance.iterations):
        low = matrix @ low
        high, new = (
            matrix @ high + added * entailed * new,
            float(entailed @ high) + (added - 1 + instance.epsilon) * new,
        )
        scale = max(float(high.max()), new)
        low, high, new = low / scale, high / scale, new / scale
    smallest, largest = min(float(high.min()), new), max(float(high.max()), new)
    # What is added may say nothing, and then the centralities stay as they are.
    present = instance.present if stay.all() else instance.centrality(weights)
    shrunk = EQUAL / (EQUAL + instance.delta)
    spread = max(largest - smallest, NO_WEIGHT)
    least = np.minimum(present, shrunk * np.clip(low - smallest, 0.0, spread) / spread)
    top = float(low.max())
    if smallest > (1.0 - 100 * EQUAL) * top:  # they may all be equal: then all are 1
        return CentralityBounds(least, np.ones(len(weights)), 1.0)
    most = np.maximum(present, np.minimum(1.0, high / top))
    return CentralityBounds(least, most, min(1.0, new / top))


def surely_kept(instance: CutInstance, intrusion: Intrusion) -> tuple[int, bool]:
    """How many documents that support the answer the cut keeps after any attack, and whether it
    keeps a memory that supports the answer.

    The attack puts up to `intrusion.added` documents in at any ranks, which entail none of the camp
    by more than AGREEMENT; all else about them is theirs to choose.

    The minimal source side of a cut only shrinks when sink capacities rise and source capacities
    fall. So the cut of the camp alone is solved with the least keep-evidence, the largest
    reject-evidence, and every entailment with another document as reject-evidence.
    """
    stay, added = intrusion.stay, intrusion.added
    bounds = centrality_bounds(instance, stay, added)
    supporting = instance.camp[stay]
    weights = instance.consistency[np.ix_(stay, stay)]
    total = bounds.least.sum() - bounds.least
    known = instance.contradictions.among(stay)
    against = known.sums(bounds.most, largest=True) + added * bounds.added
    rejected = against / np.maximum(total + added * bounds.added, NO_WEIGHT)
    rejected = np.where(total < ROUNDING, 1.0, np.minimum(rejected, 1.0))
    source = bounds.least * least_rank_weights(instance, intrusion)[stay]
    pulled = weights[:, ~supporting].sum(axis=1) + added * AGREEMENT
    sink = rejected + instance.pair_scale * pulled
    source, sink = source[supporting], sink[supporting]
    pair = instance.pair_scale * weights[np.ix_(supporting, supporting)]
    memory = instance.memory
    if memory is not None and memory.supports:
        source, sink, pair = with_worst_memory(instance, intrusion, (source, sink, pair))
    kept = min_cut(source, sink + SLACK, pair).kept
    members = int(supporting.sum())
    return int(kept[:members].sum()), bool(kept[members:].any())


def least_rank_weights(instance: CutInstance, intrusion: Intrusion) -> FloatArray:
    """The least exp(-rank / k), (n,), when so many documents come in before the present ones."""
    ranks = instance.ranks + intrusion.added
    if intrusion.beside:
        return np.asarray(np.exp(-ranks / (instance.retrieved + intrusion.added)))
    return np.asarray(np.exp(-np.minimum(ranks, instance.retrieved) / instance.retrieved))


def with_worst_memory(
    instance: CutInstance,
    intrusion: Intrusion,
    camp: tuple[FloatArray, FloatArray, FloatArray],
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The camp's capacities with the memory as last node, at its worst (Eq. 13-16)."""
    memory, stay, added = instance.memory, intrusion.stay, intrusion.added
    if memory is None:
        return camp
    source, sink, pair = camp
    agree = memory.consistency[stay]
    count = len(agree) + added
    conflicts = min(memory.conflicts, float((1.0 - agree).sum())) + added
    support = bayes(memory.support, float(agree.sum()) / count)
    refutation = bayes(memory.conflict, min(1.0, conflicts / count))
    supporting = instance.camp[stay]
    pulled = instance.pair_scale * (agree[~supporting].sum() + added * AGREEMENT)
    size = len(source)
    larger = np.zeros((size + 1, size + 1))
    larger[:size, :size] = pair
    larger[size, :size] = larger[:size, size] = instance.pair_scale * agree[supporting]
    return np.append(source, support), np.append(sink, refutation + pulled), larger


def surely_outnumbers(instance: CutInstance, intrusion: Intrusion) -> bool:
    """Whether after any such attack more kept answers support the answer than any other claim."""
    rivals = intrusion.added + largest_claim(instance, ~instance.camp & intrusion.stay)
    if instance.memory is not None and not instance.memory.supports:
        rivals += 1
    members = int((instance.camp & intrusion.stay).sum())
    if members + 1 <= rivals:  # no cut can save it
        return False
    kept, remembered = surely_kept(instance, intrusion)
    return kept + remembered > rivals


def largest_claim(instance: CutInstance, among: BoolArray) -> int:
    """At least the size of the largest group of these documents that all agree."""
    same = instance.close[np.ix_(among, among)]
    return int(same.sum(axis=1).max(initial=0))


def one_claim(close: BoolArray, among: BoolArray) -> BoolArray:
    """A large group of these documents that all agree, (n,): around the one with most partners.

    `close` (n, n) tells who makes the same claim, the diagonal included. The first of equals.
    """
    partners = (close & among[None, :]).sum(axis=1)
    group = np.zeros_like(among)
    for one in sorted(np.flatnonzero(among), key=lambda i: -partners[i]):
        if not group.any() or close[one, group].all():
            group[one] = True
    return group
