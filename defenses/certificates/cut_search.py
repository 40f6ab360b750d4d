"""A search for the smallest attack on an answer of RADAR."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from radarstream.defenses.kernels.cut_attacks import Liars, succeeds
from radarstream.defenses.kernels.worst_case_cut import CLOSE, CutInstance, Intrusion, one_claim
from radarstream.schemas.certificate import Attack, Change, Enough

LITTLE = 0.01
DECEPTIONS = 2  # documents of an attack that deceives the relation scorer


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Where an attack is looked for: none with fewer than `needed` documents is tried."""

    instance: CutInstance
    change: Change
    needed: int
    fallback: bool

    @property
    def most(self) -> int:
        """The most documents that are tried."""
        camp = int(self.instance.camp.sum())
        return camp if self.change is Change.REPLACED else camp + 1

    def works(self, liars: Liars, documents: int) -> bool:
        """Whether an attack with so many documents changes the answer."""
        if documents <= liars.decoys:
            return False
        intrusion = intrusion_of(self.instance, self.change, documents)
        return succeeds(self.instance, intrusion, liars, fallback=self.fallback)


def fewest_enough(search: Search, guess: Enough | None) -> Enough | None:
    """The smallest attack that was found. A good `guess` saves time."""
    best: Enough | None = None
    for attack, liars in opposing(search.instance, search.change):
        most = search.most if best is None else best.documents - 1
        if most < search.needed or not search.works(liars, most):
            continue
        low = search.needed - 1
        if guess is not None and low < guess.documents - 1 < most:
            middle = guess.documents - 1
            low, most = (low, middle) if search.works(liars, middle) else (middle, most)
            if most > low + 1 and search.works(liars, low + 1):
                most = low + 1
        best = Enough(smallest(search, liars, low, most), 1, attack)
    return best


def smallest(search: Search, liars: Liars, low: int, high: int) -> int:
    """A number of documents that works, by bisection between one that fails and one that works."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if search.works(liars, middle) else (middle, high)
    return high


def opposing(instance: CutInstance, change: Change) -> Iterator[tuple[Attack, Liars]]:
    """Attacks whose documents contradict those that support the answer."""
    nobody = np.zeros(instance.n, dtype=np.bool_)
    memory = instance.memory
    recalls = 1.0 if memory is not None and not memory.supports else 0.0
    joined = one_claim(instance.close, ~instance.camp)
    if joined.any() or recalls:
        entail = joined.astype(np.float64)
        yield Attack.JOINED_CLAIM, Liars(entail, 1.0 - entail, joined, recalls)
    yield Attack.NEW_CLAIM, Liars(np.zeros(instance.n), np.ones(instance.n), nobody)
    if change is Change.ADDED:
        yield Attack.DECOY, Liars(np.zeros(instance.n), np.ones(instance.n), nobody, decoys=1)


def intrusion_of(instance: CutInstance, change: Change, documents: int) -> Intrusion:
    """So many documents at the top, beside the others or for the best of the camp."""
    gone = np.zeros(instance.n, dtype=np.bool_)
    if change is Change.REPLACED:
        gone[np.flatnonzero(instance.camp)[:documents]] = True
    return Intrusion(gone, documents, beside=change is Change.ADDED)


def deceived(instance: CutInstance, *, fallback: bool) -> Enough | None:
    """The fewest added documents that agree with the camp, contradict it as well, and change the
    answer.

    A little more agreement than the camp has with itself robs it of all centrality, since Eq. 36
    makes the smallest 0. Then what is left for contradiction decides.
    """
    camp = instance.camp
    nobody = np.zeros(instance.n, dtype=np.bool_)
    strongest = float(instance.consistency[np.ix_(camp, camp)].max(initial=0.0))
    search = Search(instance, Change.ADDED, 1, fallback)
    for documents in range(1, DECEPTIONS + 1):
        for agreement in (strongest + LITTLE * (1.0 - strongest), CLOSE):
            entail = np.where(camp, agreement, 0.0)
            if search.works(Liars(entail, 1.0 - entail, nobody), documents):
                return Enough(documents, 1, Attack.BRIDGE)
    return None
