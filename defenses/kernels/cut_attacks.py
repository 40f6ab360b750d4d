"""Attacks on a decision of RADAR, played through its own cut.

Attackers stand at the top ranks and say the same. Single contradictions between present documents
are not known, so an attack counts only if it works whatever they are.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.min_cut import min_cut
from radarstream.defenses.kernels.radar import NO_WEIGHT, bayes
from radarstream.defenses.kernels.worst_case_cut import (
    CLOSE,
    SLACK,
    Contradictions,
    CutInstance,
    Intrusion,
    MemoryNode,
)

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Liars:
    """Equal documents of an attacker and how they relate to the n present ones, (n,) each.

    `recalls` is their entailment with the memory; they contradict it by the rest. `joined` are the
    present documents whose claim they make theirs. The last `decoys` of them contradict nobody and
    entail the other liars alone.
    """

    entail: FloatArray
    contradict: FloatArray
    joined: BoolArray
    recalls: float = 0.0
    decoys: int = 0


@dataclass(frozen=True, eq=False)
class Attacked:
    """The cut graph that RADAR builds after an attack: present documents that stay, s of them, a
    liars, then perhaps the memory.
    """

    instance: CutInstance
    intrusion: Intrusion
    liars: Liars

    @cached_property
    def size(self) -> int:
        """s, how many present documents stay."""
        return int(self.intrusion.stay.sum())

    @cached_property
    def plain(self) -> BoolArray:
        """Which liars are no decoys, (a,)."""
        return np.arange(self.intrusion.added) < self.intrusion.added - self.liars.decoys

    @cached_property
    def consistency(self) -> FloatArray:
        """The entailments of the documents, (s + a, s + a)."""
        size, stay = self.size, self.intrusion.stay
        matrix = 1.0 - np.eye(size + self.intrusion.added)
        matrix[:size, :size] = self.instance.consistency[np.ix_(stay, stay)]
        matrix[size:, :size] = np.outer(self.plain, self.liars.entail[stay])
        matrix[:size, size:] = matrix[size:, :size].T
        return matrix

    @cached_property
    def centrality(self) -> FloatArray:
        """RADAR's of the documents, (s + a,)."""
        return self.instance.centrality(self.consistency)

    @cached_property
    def source(self) -> FloatArray:
        """Keep-evidence; that of the memory follows Eq. 14."""
        source = self.centrality * rank_weights(self.instance, self.intrusion)
        memory = self.instance.memory
        if memory is None:
            return source
        return np.append(source, bayes(memory.support, float(self.recalled.mean())))

    @cached_property
    def recalled(self) -> FloatArray:
        """The entailment of the documents with the memory, (s + a,); 0 without one."""
        memory = self.instance.memory
        if memory is None:
            return np.zeros(len(self.consistency))
        recalls = np.where(self.plain, self.liars.recalls, 0.0)
        return np.append(memory.consistency[self.intrusion.stay], recalls)

    @cached_property
    def pair(self) -> FloatArray:
        """Pair capacities."""
        pair, n = self.consistency, len(self.consistency)
        if self.instance.memory is not None:
            pair = np.zeros((n + 1, n + 1))
            pair[:n, :n] = self.consistency
            pair[n, :n] = pair[:n, n] = self.recalled
        return self.instance.pair_scale * pair

    @cached_property
    def sink_least(self) -> FloatArray:
        """Reject-evidence if the unknown contradictions are at their least."""
        return self.sink(largest=False)

    @cached_property
    def sink_most(self) -> FloatArray:
        """Reject-evidence if they are at their largest."""
        return self.sink(largest=True)

    @cached_property
    def known(self) -> Contradictions:
        """What is known of the contradictions between those who stay."""
        return self.instance.contradictions.among(self.intrusion.stay)

    def sink(self, *, largest: bool) -> FloatArray:
        """F of those who stay, of the liars (Eq. 7), and of the memory (Eq. 16)."""
        size, centrality = self.size, self.centrality
        denied = self.liars.contradict[self.intrusion.stay]
        total = centrality.sum() - centrality
        weightless = total < NO_WEIGHT  # then the others count alike
        total = np.where(weightless, max(1.0, len(centrality) - 1.0), total)
        weights = np.where(weightless[:, None], 1.0, centrality[None, :])
        values = weights[:size, :size] if weightless.any() else centrality[:size]
        among = self.known.sums(values, largest=largest)
        ours = (among + denied * (weights[:size, size:] @ self.plain)) / total[:size]
        theirs = self.plain * (weights[size:, :size] @ denied) / total[size:]
        sink = np.append(np.minimum(ours, 1.0) if largest else ours, theirs)
        if self.instance.memory is None:
            return sink
        return np.append(sink, self.refutation(self.instance.memory, largest=largest))

    def refutation(self, memory: MemoryNode, *, largest: bool) -> float:
        """The memory's reject-evidence."""
        lost = np.clip(1.0 - memory.consistency[self.intrusion.gone], 0.0, 1.0).sum()
        total = memory.conflicts - (0.0 if largest else float(lost))
        denied = float(np.where(self.plain, 1.0 - self.liars.recalls, 0.0).sum())
        mean = max(0.0, total + denied) / len(self.consistency)
        return bayes(memory.conflict, min(1.0, mean))


def rank_weights(instance: CutInstance, intrusion: Intrusion) -> FloatArray:
    """exp(-rank / k) of those who stay, then of the liars at the top; ranks close up behind."""
    added, stay = intrusion.added, intrusion.stay
    retrieved = instance.retrieved + added if intrusion.beside else instance.retrieved
    if intrusion.beside:
        ranks = instance.ranks + added
    else:  # places of documents that are not informative, too
        taken = instance.ranks[intrusion.gone]
        before = (taken < instance.ranks[:, None]).sum(axis=1)
        ranks = np.minimum(instance.ranks - before + added, retrieved)
    return np.asarray(np.exp(-np.append(ranks[stay], np.arange(1, added + 1)) / retrieved))


def succeeds(instance: CutInstance, intrusion: Intrusion, liars: Liars, *, fallback: bool) -> bool:
    """Whether at least as many kept answers make the liars' claim as support the answer, or none
    of these is kept but another is, whatever the unknown contradictions are.

    `fallback` tells whether the best document answers where the cut keeps nothing; else there is
    no answer, which is a change.
    """
    graph = Attacked(instance, intrusion, liars)
    camp = np.append(instance.camp[intrusion.stay], np.zeros(intrusion.added, dtype=np.bool_))
    joined = np.append(liars.joined[intrusion.stay], np.ones(intrusion.added, dtype=np.bool_))
    documents = np.ones(len(camp), dtype=np.bool_)
    if instance.memory is not None:
        supports = instance.memory.supports
        camp = np.append(camp, supports)
        joined = np.append(joined, not supports and liars.recalls > CLOSE)
        documents = np.append(documents, False)
    most = min_cut(graph.source, graph.sink_least, graph.pair).kept
    if not most.any():
        return not fallback or outdone(graph, camp & documents)
    supporters = int((most & camp).sum())
    if supporters > (most & joined).sum():
        return False
    if supporters <= intrusion.added and all_liars_kept(graph):
        return True
    least = most
    if np.abs(graph.sink_most - graph.sink_least).max() > NO_WEIGHT:
        least = min_cut(graph.source, graph.sink_most, graph.pair).kept
    if supporters == 0:
        return bool(least.any())
    return supporters <= int((least & joined).sum())


def outdone(graph: Attacked, camp: BoolArray) -> bool:
    """Whether the document with the largest S - F is a liar's and not of the camp."""
    ours = (graph.source - graph.sink_least)[camp].max(initial=-np.inf)
    lies = slice(graph.size, len(graph.consistency))
    theirs = (graph.source - graph.sink_most)[lies].max(initial=-np.inf)
    return bool(ours < theirs)


def all_liars_kept(graph: Attacked) -> bool:
    """Whether the cut surely keeps all liars, whatever the unknown contradictions are.

    It does if each has S - F above all its pair capacities with others than liars: taking in those
    liars that a source side lacks would then lower its energy, however the others are labelled.
    """
    lies = slice(graph.size, len(graph.consistency))
    among = graph.pair[lies, lies].sum(axis=1)
    pulled = graph.pair[lies].sum(axis=1) - among
    ahead = graph.source[lies] - graph.sink_least[lies]  # F of liars is known
    return bool((ahead > pulled + SLACK).all())
