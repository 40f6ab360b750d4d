"""A search for the smallest attack on an answer of RADAR."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.kernels.cut_attacks import Liars, succeeds
from radarstream.defenses.kernels.worst_case_cut import CutInstance, Intrusion
from radarstream.schemas.certificate import Attack, Change, Enough, Needed

BoolArray = NDArray[np.bool_]

SAME = 0.5
DECEPTIONS = 3  # documents of an attack that deceives the relation scorer


@dataclass(frozen=True, slots=True, eq=False)
class Deception:
    """What an attack outside of the assumptions is looked for with."""

    instance: CutInstance
    needed: Needed | None
    fallback: bool


def fewest_enough(
    instance: CutInstance, change: Change, needed: int, *, fallback: bool
) -> Enough | None:
    """The smallest attack that was found; none with fewer than `needed` documents is tried."""
    best: Enough | None = None
    for attack, liars in opposing(instance):
        found = smallest(instance, change, (attack, liars), needed, best, fallback)
        best = found or best
    return best


def opposing(instance: CutInstance) -> Iterator[tuple[Attack, Liars]]:
    """Attacks whose documents contradict those that support the answer."""
    nobody = np.zeros(instance.n, dtype=np.bool_)
    memory = instance.memory
    recalls = 1.0 if memory is not None and not memory.supports else 0.0
    yield Attack.NEW_CLAIM, Liars(np.zeros(instance.n), np.ones(instance.n), nobody)
    joined = rejected_claim(instance)
    if joined.any() or recalls:
        entail = joined.astype(np.float64)
        yield Attack.JOINED_CLAIM, Liars(entail, 1.0 - entail, joined, recalls)
    yield Attack.DECOY, Liars(np.zeros(instance.n), np.ones(instance.n), nobody, decoys=1)


def rejected_claim(instance: CutInstance) -> BoolArray:
    """The largest group of documents outside of the camp that make one claim, (n,)."""
    outside = ~instance.camp
    same = (instance.consistency >= SAME) | np.eye(instance.n, dtype=np.bool_)
    partners = (same & outside[None, :]).sum(axis=1)
    leader = int(np.argmax(np.where(outside, partners, -1)))
    return np.asarray(outside & same[leader] & outside[leader])


def smallest(
    instance: CutInstance,
    change: Change,
    tried: tuple[Attack, Liars],
    needed: int,
    best: Enough | None,
    fallback: bool,
) -> Enough | None:
    """The smallest attack of one kind that is smaller than the best, by bisection."""
    attack, liars = tried

    def works(documents: int) -> bool:
        if documents <= liars.decoys:
            return False
        intrusion = intrusion_of(instance, change, documents)
        return succeeds(instance, intrusion, liars, fallback=fallback)

    camp = int(instance.camp.sum())
    most = camp if change is Change.REPLACED else camp + 1
    most = most if best is None else best.documents - 1
    if most < needed or not works(most):
        return None
    low, high = needed - 1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if works(middle) else (middle, high)
    return Enough(high, 1, attack)


def intrusion_of(instance: CutInstance, change: Change, documents: int) -> Intrusion:
    """So many documents at the top, beside the others or for the best of the camp."""
    gone = np.zeros(instance.n, dtype=np.bool_)
    if change is Change.REPLACED:
        gone[np.flatnonzero(instance.camp)[:documents]] = True
    return Intrusion(gone, documents, beside=change is Change.ADDED)


def deceived(sought: Deception) -> Enough | None:
    """The fewest added documents that half agree with the camp and change the answer.

    They rob it of its centrality, which RADAR measures against the largest, while they stay.
    """
    instance = sought.instance
    camp = instance.camp
    nobody = np.zeros(instance.n, dtype=np.bool_)
    strongest = float(instance.consistency[np.ix_(camp, camp)].max(initial=0.0))
    for documents in range(1, DECEPTIONS + 1):
        for agreement in ((1.0 + strongest) / 2.0, SAME):
            entail = np.where(camp, agreement, 0.0)
            liars = Liars(entail, 1.0 - entail, nobody)
            intrusion = intrusion_of(instance, Change.ADDED, documents)
            if succeeds(instance, intrusion, liars, fallback=sought.fallback):
                return Enough(documents, 1, Attack.BRIDGE)
    return None
