"""How many documents change an answer of RADAR: a proof by its cut at its worst, and attacks."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import exp, log

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.certificates.cut_search import Search, deceived, fewest_enough
from radarstream.defenses.certificates.parts import fewest, proved, seen_documents, unproved
from radarstream.defenses.kernels.radar import CERTAINTY
from radarstream.defenses.kernels.worst_case_cut import (
    CLOSE,
    CutInstance,
    Intrusion,
    MemoryNode,
    one_claim,
    surely_outnumbers,
)
from radarstream.defenses.radar import Radar
from radarstream.schemas.certificate import (
    Assumption,
    Certificate,
    Change,
    FlipBound,
    Needed,
)
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.verdict import (
    MEMORY_NODE,
    DocumentVerdict,
    MemoryDecision,
    MemoryVerdict,
    Verdict,
)

BoolArray = NDArray[np.bool_]

MOST_NODES = 400  # in all cuts of one proof about replaced documents; then what is proved stands
ASSUMPTIONS = (
    Assumption.WRITTEN,
    Assumption.OPPOSED,
    Assumption.FIXED,
    Assumption.PROPER,
    Assumption.NOT_ISOLATED,
)


def certify_radar(defense: Radar, event: AnswerEvent) -> Certificate:
    """Bounds for added and for replaced documents, with the memory and without it."""
    reason = why_unproved(defense, event.verdict)
    if reason:
        return unproved(defense, reason)
    instance = instance_of(defense, event)
    fallback = defense.on_empty != "abstain"
    bounds = []
    for change in Change:
        needed, guess = int(instance.camp.sum()) // 5, None
        for remembering in (True, False) if instance.memory is not None else (False,):
            judged = instance if remembering else replace(instance, memory=None)
            needed = fewest_needed(judged, change, needed)
            enough = guess = fewest_enough(Search(judged, change, needed, fallback), guess)
            bounds.append(FlipBound(change, remembering, Needed(needed), enough))
    return proved(defense, bounds, ASSUMPTIONS, deceived(instance, fallback=fallback))


def why_unproved(defense: Radar, verdict: Verdict) -> str:
    """Why nothing can be said of a verdict; empty if something can."""
    if verdict.abstained:
        return "there is no answer to change"
    if verdict.energy is None:
        return "no document answers by itself, the previous answer stands"
    if defense.source_prior:
        return "the past of the sources counts, too, and is not in the event"
    if not defense.pair_scale:
        return "without pair_scale the event does not tell which answers agree"
    if defense.on_empty == "all_informative":
        return "all documents answer where the cut keeps none"
    return ""


def instance_of(defense: Radar, event: AnswerEvent) -> CutInstance:
    """What RADAR judged, as far as the event tells."""
    documents = seen_documents(event)
    informative = [d for d in documents if d.keep_evidence is not None]
    nodes = [d.rank for d in informative]
    place = {rank: index for index, rank in enumerate(nodes)}
    n = len(nodes)
    consistency, recalled = np.zeros((n, n)), np.zeros(n)
    for one, other, capacity in event.verdict.edges:
        if MEMORY_NODE in (one, other):
            recalled[place[one + other]] = capacity / defense.pair_scale
        else:
            a, b = place[one], place[other]
            consistency[a, b] = consistency[b, a] = capacity / defense.pair_scale
    return CutInstance(
        ranks=np.array(nodes),
        retrieved=len(documents),
        consistency=np.minimum(consistency, 1.0),
        reject=np.array([d.reject_evidence or 0.0 for d in informative]),
        camp=camp_of(informative, consistency),
        memory=remembered_of(event.verdict.memory, np.minimum(recalled, 1.0)),
        pair_scale=defense.pair_scale,
        epsilon=defense.epsilon,
        iterations=defense.iterations,
        delta=defense.delta,
    )


def camp_of(documents: list[DocumentVerdict], consistency: NDArray[np.float64]) -> BoolArray:
    """The largest group of kept documents that all agree, (n,)."""
    kept = np.array([document.kept for document in documents])
    return one_claim((consistency >= CLOSE) | np.eye(len(kept), dtype=np.bool_), kept)


def remembered_of(memory: MemoryVerdict, recalled: NDArray[np.float64]) -> MemoryNode | None:
    """The memory node, if there was one; its mean conflict follows from its posterior."""
    prior, posterior = memory.conflict_prior, memory.conflict_posterior
    if prior is None or posterior is None or memory.support_prior is None:
        return None
    mean = likelihood(prior, posterior)
    return MemoryNode(
        support=memory.support_prior,
        conflict=prior,
        consistency=recalled,
        conflicts=len(recalled) * mean,
        supports=memory.decision is MemoryDecision.RETAINED,
    )


def likelihood(prior: float, posterior: float) -> float:
    """The likelihood that Bayes' rule turned a prior into a posterior with (Eq. 16).

    >>> round(likelihood(0.8, 0.903226), 4)
    0.7
    """

    def logit(p: float) -> float:
        return log(p / (1.0 - p))

    clamped = min(max(prior, CERTAINTY), 1.0 - CERTAINTY)
    certain = min(max(posterior, CERTAINTY**2), 1.0 - CERTAINTY**2)
    return 1.0 / (1.0 + exp(logit(clamped) - logit(certain)))


def fewest_needed(instance: CutInstance, change: Change, guess: int) -> int:
    """One more than the most documents that provably leave the answer's claim ahead.

    A good `guess` saves time.
    """
    camp = int(instance.camp.sum())
    if change is Change.REPLACED:
        return fewest_replaced(instance, camp)
    nobody = np.zeros(instance.n, dtype=np.bool_)

    def unsafe(liars: int) -> bool:  # what bounds any attack bounds those with fewer documents
        return not surely_outnumbers(instance, Intrusion(nobody, liars, beside=True))

    return fewest(unsafe, 0, camp + 1, guess)


def fewest_replaced(instance: CutInstance, camp: int) -> int:
    """As `fewest_needed`, over all choices of the documents that go."""
    cuts = 0
    groups = equal_groups(instance)
    for liars in range(1, camp + 1):
        for gone in removals(instance, groups, liars):
            cuts += 1
            if cuts * instance.n > MOST_NODES:
                return liars
            if not surely_outnumbers(instance, Intrusion(gone, liars, beside=False)):
                return liars
    return camp + 1


def equal_groups(instance: CutInstance) -> list[NDArray[np.intp]]:
    """Documents that differ in their rank alone, by rank; those that support the answer first."""
    n = instance.n
    features = [instance.camp.astype(np.float64), instance.reject]
    if instance.memory is not None:
        features.append(instance.memory.consistency)
    alike = np.ones((n, n), dtype=np.bool_)
    for feature in features:
        alike &= np.abs(feature[:, None] - feature[None, :]) <= CERTAINTY**2
    left = sorted(range(n), key=lambda i: (not instance.camp[i], i))
    groups = []
    while left:
        first = left[0]
        candidates = np.array([i for i in left if alike[first, i]])
        differs = instance.consistency[candidates] != instance.consistency[first]
        differs[:, first] = False
        differs[np.arange(len(candidates)), candidates] = False
        groups.append(candidates[~differs.any(axis=1)])
        members = set(groups[-1].tolist())
        left = [i for i in left if i not in members]
    return groups


def removals(
    instance: CutInstance, groups: list[NDArray[np.intp]], liars: int
) -> Iterator[BoolArray]:
    """Every way to take out informative documents for so many liars, up to equal ones.

    Of equal documents the best ranked go: the others have less keep-evidence. Documents that are
    not informative may go as well.
    """
    spare = instance.retrieved - instance.n
    for size in range(min(liars, instance.n), max(0, liars - spare) - 1, -1):
        for counts in ways([len(group) for group in groups], size):
            gone = np.zeros(instance.n, dtype=np.bool_)
            for group, count in zip(groups, counts, strict=True):
                gone[group[:count]] = True
            yield gone


def ways(sizes: Sequence[int], total: int) -> Iterator[tuple[int, ...]]:
    """Every way to take so many in total out of groups of these sizes, the most of the first.

    >>> list(ways([2, 1], 2))
    [(2, 0), (1, 1)]
    """
    if not sizes:
        if total == 0:
            yield ()
        return
    least = max(0, total - sum(sizes[1:]))
    for first in range(min(sizes[0], total), least - 1, -1):
        for rest in ways(sizes[1:], total - first):
            yield (first, *rest)
