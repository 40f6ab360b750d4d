"""What is behind an answer: how many independent sites say it, and its status."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from radarstream.schemas.evidence import AGREEMENT
from radarstream.schemas.memory import Probability
from radarstream.schemas.snapshot import ABSENT_UNSET, Strict
from radarstream.schemas.verdict import Abstention

CORROBORATING_SITES: Final = 2
UNSEEN: Final = 8.0  # sites that might yet speak against an answer; on the development half

Count = Annotated[int, Field(ge=0)]
# A document that is for an answer, or against it: its rank, and the probability that its own answer
# means the same, or contradicts it.
Stance = tuple[int, float]


class AnswerStatus(StrEnum):
    """What an answer rests on; `docs/consuming.md` has the rules."""

    CORROBORATED = "corroborated"
    SINGLE_SOURCE = "single_source"  # one independent site at most says so
    DISPUTED = "disputed"
    REMEMBERED = "remembered"  # too few sites say so now; it is the previous answer
    ABSTAINED = "abstained"  # no answer


# The two that are easily confused, for whoever reads either.
TOLD_APART: Final = (
    "An answer that withstands w lying sites is said by at least w + 1 independent sites. It is"
    " corroborated if these are more than w ahead of every other answer, else disputed."
)


@dataclass(frozen=True, slots=True)
class Support(Strict):
    """What is behind an answer, and against it, in independent sites.

    `sites_for` is how many sites say the answer: the most voices that are independent and agree
    with it and with each other (`defenses.tally`). `rival_sites` is how many say the strongest
    answer that contradicts it, `rival_answer` is its text, None without one. `memory` is how far
    the previous answer agrees, in [-1, 1]: negative where it contradicts, 0 without one.
    `to_silence` is how many more lying sites it would take at least until the answer is no longer
    given, `to_change` until one that contradicts it is given; None where no rule counts sites.
    `confidence` orders answers from unsure to sure; it is no probability. Stances are the documents
    for and against the answer.
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
    """A number that orders answers, in [0, 1); the memory counts as at most one site."""
    in_favour, opposed = sites_for + max(0.0, memory), rival_sites + max(0.0, -memory)
    return in_favour / (in_favour + opposed + UNSEEN)


def lacks_support(sites_for: int, rival_sites: int, withstand: int) -> Abstention | None:
    """Why an answer is not given; None if it is: more than `withstand` independent sites say it,
    and more than any answer that contradicts it.
    """
    if sites_for <= withstand:
        return Abstention.THIN_EVIDENCE
    return Abstention.OUTWEIGHED if sites_for <= rival_sites else None


def still_to_lie(sites_for: int, rival_sites: int, withstand: int) -> tuple[int, int]:
    """How many more lying sites it takes at least to silence an answer, and to change it.

    Of a remembered answer, which too few sites say now, both are until a rival has enough.
    """
    if sites_for <= withstand:
        until_rival = max(0, withstand + 1 - rival_sites)
        return until_rival, until_rival
    return max(0, sites_for - rival_sites), max(0, sites_for + 1 - rival_sites)


def status_of(support: Support | None, withstand: int | None) -> AnswerStatus:
    """What an answer rests on; None for an abstention. The first rule that fits counts.

    remembered: too few sites are for it, none without `withstand`, and the memory agrees.
    disputed: so many sites are for a rival that `withstand` more would silence it. single_source:
    fewer than two sites are for it.
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
