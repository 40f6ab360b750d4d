"""How far an answer can be trusted: what is behind it, what is against it, and its status."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from pydantic import Field

from radarstream.schemas.evidence import AGREEMENT
from radarstream.schemas.memory import Probability
from radarstream.schemas.snapshot import ABSENT_UNSET, Strict
from radarstream.schemas.verdict import Abstention

CORROBORATING_SITES: Final = 2  # independent sites that corroborate an answer
# Both were chosen on the development half of RealTimeQA.
DISPUTED_SHARE: Final = 0.5  # of the weight for an answer: a rival with so much disputes it
UNSEEN: Final = 8.0  # voices that might yet speak against an answer

Count = Annotated[int, Field(ge=0)]
Weight = Annotated[float, Field(ge=0.0)]
# A document that is for an answer, or against it: its rank, the probability that its own answer
# means the same, or contradicts it, and whose voice it is: the rank of the best document of that.
Stance = tuple[int, float, int]


class AnswerStatus(StrEnum):
    """What an answer rests on; `docs/consuming.md` has the rules."""

    CORROBORATED = "corroborated"
    SINGLE_SOURCE = "single_source"  # one independent site at most says so
    DISPUTED = "disputed"
    REMEMBERED = "remembered"  # no document says so now; it is the previous answer
    ABSTAINED = "abstained"  # no answer


# The two that are easily confused, for whoever reads either.
TOLD_APART: Final = (
    "An answer is corroborated if two or more independent sites say so and what speaks against it,"
    " the strongest other answer and a memory that contradicts, has less than half of its weight;"
    " with half or more it is disputed."
)


@dataclass(frozen=True, slots=True)
class Support(Strict):
    """What is behind an answer, and against it.

    A document is for the answer if its atomic answer means the same, and against it if that
    contradicts it. `sites_for` and `sites_against` count independent sites: the most documents no
    two of which are one voice (`defenses.kernels.independence`). Weights are sums of probabilities
    over sites. `rival` is the weight of the strongest other answer: of documents against it that
    agree with each other; `rival_answer` is its text, None without documents against. `memory` is
    what the previous answer adds, in [-1, 1]: negative where it contradicts this one, 0 without
    one. `margin` is the weight for the answer, with the memory, less that of the rival.
    `confidence` orders answers from unsure to sure; it is no probability. `stances_for` and
    `stances_against` are what all that is counted from.
    """

    documents_for: Count = 0
    documents_against: Count = 0
    sites_for: Count = 0
    sites_against: Count = 0
    weight_for: Weight = 0.0
    weight_against: Weight = 0.0
    rival: Weight = 0.0
    memory: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.0
    margin: float = 0.0
    confidence: Probability = 0.0
    rival_answer: Annotated[str | None, ABSENT_UNSET] = None
    stances_for: tuple[Stance, ...] = ()
    stances_against: tuple[Stance, ...] = ()

    @property
    def ranks_for(self) -> tuple[int, ...]:
        """The documents for the answer."""
        return tuple(rank for rank, _, _ in self.stances_for)

    @property
    def ranks_against(self) -> tuple[int, ...]:
        """The documents against the answer."""
        return tuple(rank for rank, _, _ in self.stances_against)

    @property
    def balance(self) -> "Balance":
        """What is for the answer and against it, the memory on its side."""
        return Balance.of(self.weight_for, self.rival, self.memory)


class Balance(NamedTuple):
    """What is for an answer and against it, each with a memory that is on its side."""

    in_favour: float
    opposed: float

    @classmethod
    def of(cls, weight_for: float, rival: float, memory: float) -> "Balance":
        """The balance of documents, of the strongest other answer, and of the memory."""
        return cls(weight_for + max(0.0, memory), rival + max(0.0, -memory))

    @property
    def margin(self) -> float:
        """By how much the answer outweighs what is against it."""
        return self.in_favour - self.opposed

    @property
    def confidence(self) -> float:
        """A number that orders answers, in [0, 1)."""
        return self.in_favour / (self.in_favour + self.opposed + UNSEEN)


def status_of(support: Support | None) -> AnswerStatus:
    """What an answer rests on; None for an abstention. The first rule that fits counts.

    remembered: no document is for it, and the memory agrees. disputed: another answer, or a memory
    that contradicts it, has at least half of its weight. single_source: fewer than two independent
    sites are for it.
    """
    if support is None:
        return AnswerStatus.ABSTAINED
    if support.documents_for == 0 and support.memory >= AGREEMENT:
        return AnswerStatus.REMEMBERED
    in_favour, opposed = support.balance
    if opposed > 0.0 and opposed >= DISPUTED_SHARE * in_favour:
        return AnswerStatus.DISPUTED
    if support.sites_for < CORROBORATING_SITES:
        return AnswerStatus.SINGLE_SOURCE
    return AnswerStatus.CORROBORATED


def lacks_support(support: Support, min_support: int) -> Abstention | None:
    """Why an answer with this support is not given; None if it is. 0 gives every answer.

    It takes `min_support` independent sites, or a memory that agrees; and more weight than any
    other answer has.
    """
    if min_support == 0:
        return None
    if support.sites_for < min_support and support.memory < AGREEMENT:
        return Abstention.THIN_EVIDENCE
    return Abstention.OUTWEIGHED if support.margin <= 0.0 else None
