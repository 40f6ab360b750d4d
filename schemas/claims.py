"""Claims, and the results of checking them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Strict
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import Abstention


class Stance(StrEnum):
    """How an answer to the question of a claim relates to the claim, if it does."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


class ClaimVerdict(StrEnum):
    """The result of a check, by the rule that decides every answer."""

    SUPPORTED = "supported"  # the answer says what the claim says
    REFUTED = "refuted"  # the answer contradicts the claim
    DISPUTED = "disputed"  # no answer is far enough ahead of the others
    NOT_ENOUGH_EVIDENCE = "not_enough_evidence"


@dataclass(frozen=True, slots=True)
class Claim(Strict):
    """A claim, as a question and the answer that the claim gives to it."""

    text: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class CheckedClaim(Strict):
    """The result of a check: the number of independent sites on each side, 0 if no sites were
    counted, and the stances of documents as (rank, stance).
    """

    claim: Claim
    verdict: ClaimVerdict
    supporting: int
    contradicting: int
    stances: tuple[tuple[int, Stance], ...] = ()


def checked_claim(
    claim: Claim, event: AnswerEvent, stances: Mapping[str, Stance | None]
) -> CheckedClaim:
    """Judge a claim by the `event` that answers its question; `stances` is by answer."""
    verdict, support = event.verdict, event.support
    stance = stances.get(verdict.weighed or "")
    sites = dict.fromkeys(Stance, 0)
    if support is not None:
        if (rival := stances.get(support.rival_answer or "")) is not None:
            sites[rival] = support.rival_sites
        if stance is not None:
            sites[stance] = support.sites_for
    ranked = ((d.rank, stances.get(d.atomic_answer or "")) for d in verdict.documents)
    return CheckedClaim(
        claim,
        _verdict(event, stance),
        sites[Stance.SUPPORTS],
        sites[Stance.CONTRADICTS],
        tuple((rank, taken) for rank, taken in ranked if taken is not None),
    )


def _verdict(event: AnswerEvent, stance: Stance | None) -> ClaimVerdict:
    if event.status is AnswerStatus.DISPUTED or event.abstention is Abstention.OUTWEIGHED:
        return ClaimVerdict.DISPUTED
    if event.abstention is not None or stance is None:
        return ClaimVerdict.NOT_ENOUGH_EVIDENCE
    return ClaimVerdict.SUPPORTED if stance is Stance.SUPPORTS else ClaimVerdict.REFUTED
