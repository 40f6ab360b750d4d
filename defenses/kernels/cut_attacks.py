"""Attacks on a decision of RADAR, played through its own cut.

Attackers stand at the top ranks and say the same. Single contradictions between present documents
are not known, so an attack counts only if it works whatever they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.min_cut import min_cut
from radarstream.defenses.kernels.radar import NO_WEIGHT, bayes
from radarstream.defenses.kernels.worst_case_cut import (
    CLOSE,
    CutInstance,
    Intrusion,
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
    """The cut graph after an attack: present documents that stay, liars, then perhaps the memory.

    `sink_least` and `sink_most` are reject-evidence if the unknown contradictions are at their
    least and at their largest.
    """

    source: FloatArray
    sink_least: FloatArray
    sink_most: FloatArray
    pair: FloatArray
    liars: BoolArray


def attacked(instance: CutInstance, intrusion: Intrusion, liars: Liars) -> Attacked:
    """The graph that RADAR builds after an attack."""
    stay, added = intrusion.stay, intrusion.added
    size = int(stay.sum())
    plain = np.arange(added) < added - liars.decoys
    entail = np.outer(plain, liars.entail[stay])
    contradict = np.outer(plain, liars.contradict[stay])
    consistency = np.block(
        [
            [instance.consistency[np.ix_(stay, stay)], entail.T],
            [entail, 1.0 - np.eye(added)],
        ]
    )
    centrality = instance.centrality(consistency)
    least, most = conflicts(instance, intrusion, centrality, contradict)
    source = centrality * rank_weights(instance, intrusion)
    lying = np.arange(size + added) >= size
    graph = Attacked(source, least, most, instance.pair_scale * consistency, lying)
    if instance.memory is None:
        return graph
    recalls = np.where(plain, liars.recalls, 0.0)
    denies = np.where(plain, 1.0 - liars.recalls, 0.0)
    return with_memory(instance, intrusion, graph, (recalls, denies))


def rank_weights(instance: CutInstance, intrusion: Intrusion) -> FloatArray:
    """exp(-rank / k) of those who stay, then of the liars at the top; ranks close up behind."""
    added, stay = intrusion.added, intrusion.stay
    retrieved = instance.retrieved + added if intrusion.beside else instance.retrieved
    if intrusion.beside:
        ranks = instance.ranks + added
    else:  # places of documents that are not informative, too
        taken = instance.ranks[intrusion.gone]
        before = np.array([(taken < rank).sum() for rank in instance.ranks])
        ranks = np.minimum(instance.ranks - before + added, retrieved)
    return np.asarray(np.exp(-np.append(ranks[stay], np.arange(1, added + 1)) / retrieved))


def conflicts(
    instance: CutInstance, intrusion: Intrusion, centrality: FloatArray, contradict: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least and largest F (Eq. 7) of those who stay, then of the liars; `contradict` is (a, s)."""
    size = int(intrusion.stay.sum())
    total = centrality.sum() - centrality
    weightless = total < NO_WEIGHT  # then the others count alike
    total = np.where(weightless, max(1.0, len(centrality) - 1.0), total)
    weights = np.where(weightless[:, None], 1.0, centrality[None, :])
    values = weights[:size, :size]
    against = (weights[:size, size:] * contradict.T).sum(axis=1)
    exact = (weights[size:, :size] * contradict).sum(axis=1) / total[size:]
    least, most = (
        (instance.contradictions.sums(intrusion.stay, values, largest=largest) + against)
        / total[:size]
        for largest in (False, True)
    )
    return np.append(least, exact), np.append(np.minimum(most, 1.0), exact)


def with_memory(
    instance: CutInstance,
    intrusion: Intrusion,
    graph: Attacked,
    relations: tuple[FloatArray, FloatArray],
) -> Attacked:
    """The graph with the memory as last node; `relations` are entailment and contradiction of the
    liars with it, (a,) each.
    """
    memory = instance.memory
    if memory is None:
        return graph
    agree = np.append(memory.consistency[intrusion.stay], relations[0])
    lost = float(np.clip(1.0 - memory.consistency[intrusion.gone], 0.0, 1.0).sum())
    denied = float(relations[1].sum())
    refutations = [
        bayes(memory.conflict, min(1.0, max(0.0, total + denied) / len(agree)))
        for total in (memory.conflicts - lost, memory.conflicts)
    ]
    pairs = instance.pair_scale * agree
    pair = np.block([[graph.pair, pairs[:, None]], [pairs[None, :], np.zeros((1, 1))]])
    return Attacked(
        source=np.append(graph.source, bayes(memory.support, float(agree.mean()))),
        sink_least=np.append(graph.sink_least, refutations[0]),
        sink_most=np.append(graph.sink_most, refutations[1]),
        pair=pair,
        liars=np.append(graph.liars, False),
    )


def succeeds(instance: CutInstance, intrusion: Intrusion, liars: Liars, *, fallback: bool) -> bool:
    """Whether at least as many kept answers make the liars' claim as support the answer, or none
    of these is kept but another is, whatever the unknown contradictions are.

    `fallback` tells whether the best document answers where the cut keeps nothing; else there is
    no answer, which is a change.
    """
    graph = attacked(instance, intrusion, liars)
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
    least = most
    if np.abs(graph.sink_most - graph.sink_least).max() > NO_WEIGHT:
        least = min_cut(graph.source, graph.sink_most, graph.pair).kept
    if supporters == 0:
        return bool(least.any())
    return supporters <= int((least & joined).sum())


def outdone(graph: Attacked, camp: BoolArray) -> bool:
    """Whether the document with the largest S - F is a liar's and not of the camp."""
    ours = (graph.source - graph.sink_least)[camp].max(initial=-np.inf)
    theirs = (graph.source - graph.sink_most)[graph.liars].max(initial=-np.inf)
    return bool(ours < theirs)
