"""What a question costs of a user's privacy budget for a corpus: the rules; accounts keep the sums.

Costs add up (sequential composition of differential privacy): whoever asks n questions at epsilon
learns at most n epsilon about whether one document is in the corpus, with the methods' own
limits, see `radarstream.defenses.retrieval.dp_rag`.

A question whose retrieval has no noise is charged nothing, because no finite cost would be true: it
tells exactly which documents are nearest. The budget bounds what questions under noise tell, not
what a user learns in all.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from radarstream.schemas.orchestration import ROUNDING, PrivacyMethod, PrivacyPlan

NOT_PROVED: Final = "the nearest candidates alone, or an epsilon above what is proved"
# Below it the formula for the noise on the k-th score is proved.
MOST_PROVED_GAUSSIAN: Final = 1.0


@dataclass(frozen=True, slots=True)
class PrivacyCost:
    """(epsilon, delta) of one or more retrievals.

    `proved` says whether the threshold really has it: all documents of the corpus were candidates,
    and the method's formula holds for its epsilon.
    """

    epsilon: float = 0.0
    delta: float = 0.0
    proved: bool = True


def cost_of(plan: PrivacyPlan, *, full_scan: bool = False) -> PrivacyCost:
    """What one retrieval under a plan costs; nothing without noise.

    A retrieval is paid before it is made, and stays paid if it fails.
    """
    if not plan.enabled:
        return PrivacyCost(proved=False)
    gaussian = plan.method is PrivacyMethod.GAUSSIAN
    holds = not gaussian or plan.epsilon < MOST_PROVED_GAUSSIAN
    return PrivacyCost(plan.epsilon, plan.delta if gaussian else 0.0, full_scan and holds)


def composed(costs: Iterable[PrivacyCost]) -> PrivacyCost:
    """The cost of several retrievals together: their sums."""
    listed = list(costs)
    return PrivacyCost(
        sum(cost.epsilon for cost in listed),
        min(1.0, sum(cost.delta for cost in listed)),
        all(cost.proved for cost in listed),
    )


def affordable(spent: float, epsilon: float, budget: float) -> bool:
    """Whether a budget allows `epsilon` more. A cost of 0 is always allowed.

    >>> affordable(97.0, 3.0, 100.0), affordable(97.1, 3.0, 100.0)
    (True, False)
    """
    return epsilon <= 0.0 or spent + epsilon <= budget * (1.0 + ROUNDING)


def unspent(spent: float, budget: float) -> float:
    """What is left of a budget, at least 0."""
    return max(0.0, budget - spent)
