"""The support of an answer, in independent sites, and its status."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from radarstream.schemas.evidence import AGREEMENT
from radarstream.schemas.memory import Probability
from radarstream.schemas.snapshot import ABSENT_UNSET, Strict
from radarstream.schemas.verdict import Abstention

CORROBORATING_SITES: Final = 2
UNSEEN: Final = 8.0  # assumed unread sites against an answer; chosen on the development half

Count = Annotated[int, Field(ge=0)]
# Of a document for, or against, an answer: its rank, and the probability that its own answer means
# the same, or contradicts it.
Stance = tuple[int, float]


class AnswerStatus(StrEnum):
    """What an answer rests on; `docs/consuming.md` has the rules."""

    CORROBORATED = "corroborated"
    SINGLE_SOURCE = "single_source"  # at most one independent site says it
    DISPUTED = "disputed"
    REMEMBERED = "remembered"  # the previous answer, which too few sites say now
    ABSTAINED = "abstained"  # no answer


# Explains the two statuses that are easily confused.
STATUS_RULE: Final = (
    "An answer that withstands w lying sites is said by at least w + 1 independent sites. It is"
    " corroborated if these are more than w ahead of every other answer, else disputed."
)


@dataclass(frozen=True, slots=True)
class Support(Strict):
    """What is behind an answer, and against it, in independent sites.

    `sites_for` is the largest number of independent voices that agree with the answer and with each
    other (`defenses.tally`). `rival_sites` is the same of the strongest answer that contradicts it,
    `rival_answer`, None without one. `memory` is how far the previous answer agrees, in [-1, 1]: 0
    without one, negative if it contradicts. `to_silence` is how many more lying sites it takes at
    least until the answer is no longer given, `to_change` until one that contradicts it is given;
    None if the defence counts no sites. `confidence` orders answers from unsure to sure; it is not
    a probability.
    """

    sites_for: Count = 0
    rival_sites: Count = 0
    memory: Annotated[float, Field(ge=-1.0, le=1.0)] = 0.0
    confidence: Probability = 0.0
    rival_answer: Annotated[str | None, ABSENT_UNSET] = None
    to_silence: Annotated[Count | None, ABSENT_UNSET] = None
    to_change: Annotated[Count | None, ABSENT_UNSET] = None
    stances_for: tuple[Stance, ...] = ()
    stances_against: tuple[Stance, ...] = ()

    @property
    def ranks_for(self) -> tuple[int, ...]:
        """The documents for the answer."""
        return tuple(rank for rank, _ in self.stances_for)

    @property
    def ranks_against(self) -> tuple[int, ...]:
        """The documents against the answer."""
        return tuple(rank for rank, _ in self.stances_against)


def confidence_of(sites_for: int, rival_sites: int, memory: float) -> float:
    """Return the confidence, in [0, 1); the memory counts as at most one site."""
    in_favour, opposed = sites_for + max(0.0, memory), rival_sites + max(0.0, -memory)
    return in_favour / (in_favour + opposed + UNSEEN)


def lacks_support(sites_for: int, rival_sites: int, withstand: int) -> Abstention | None:
    """Say why an answer is not given; None if it is: more than `withstand` independent sites say
    it, and more than say any answer that contradicts it.
    """
    if sites_for <= withstand:
        return Abstention.THIN_EVIDENCE
    return Abstention.OUTWEIGHED if sites_for <= rival_sites else None


def still_to_lie(sites_for: int, rival_sites: int, withstand: int) -> tuple[int, int]:
    """Return how many more lying sites it takes at least to silence an answer, and to change it.

    A remembered answer, which too few sites say now, is given until a rival has enough sites.
    """
    if sites_for <= withstand:
        until_rival = max(0, withstand + 1 - rival_sites)
        return until_rival, until_rival
    return max(0, sites_for - rival_sites), max(0, sites_for + 1 - rival_sites)


def status_of(support: Support | None, withstand: int | None) -> AnswerStatus:
    """Return the status of an answer, without `support` that of an abstention.

    The first rule that fits counts. remembered: at most `withstand` sites are for the answer, and
    the memory agrees. disputed: a rival has sites, and the answer is at most `withstand` sites
    ahead of it. single_source: fewer than two sites are for it. None counts as `withstand` 0.
    """
    least = withstand or 0
    if support is None:
        return AnswerStatus.ABSTAINED
    if support.sites_for <= least and support.memory >= AGREEMENT:
        return AnswerStatus.REMEMBERED
    if support.rival_sites and support.sites_for - support.rival_sites <= least:
        return AnswerStatus.DISPUTED
    if support.sites_for < CORROBORATING_SITES:
        return AnswerStatus.SINGLE_SOURCE
    return AnswerStatus.CORROBORATED
