"""Claims that are checked: as they are read, and what became of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Strict
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import Abstention


class Stance(StrEnum):
    """What an answer to the question of a claim says of the claim; others say neither."""

    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"


class ClaimVerdict(StrEnum):
    """What became of a claim, by the rule that decides every answer."""

    SUPPORTED = "supported"  # the answer says what the claim says
    REFUTED = "refuted"  # the answer contradicts it
    DISPUTED = "disputed"  # no answer is enough ahead of the others
    NOT_ENOUGH_EVIDENCE = "not_enough_evidence"


@dataclass(frozen=True, slots=True)
class Claim(Strict):
    """A claim as it is checked: a question, and the answer that the claim gives to it."""

    text: str
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class CheckedClaim(Strict):
    """What became of a claim: how many independent sites are on either side of it, 0 where the rule
    named none, and the stances of documents by their rank.
    """

    claim: Claim
    verdict: ClaimVerdict
    supporting: int
    contradicting: int
    stances: tuple[tuple[int, Stance], ...] = ()


def checked_claim(
    claim: Claim, event: AnswerEvent, stances: Mapping[str, Stance | None]
) -> CheckedClaim:
    """What the answer to the question of a claim says of it; `stances` are those of answers."""
    verdict, support = event.verdict, event.support
    stance = stances.get(verdict.weighed or "")
    sites = dict.fromkeys(Stance, 0)
    if support is not None:
        if (rival := stances.get(support.rival_answer or "")) is not None:
            sites[rival] = support.rival_sites
        if stance is not None:
            sites[stance] = support.sites_for
    told = ((d.rank, stances.get(d.atomic_answer or "")) for d in verdict.documents)
    return CheckedClaim(
        claim,
        _verdict(event, stance),
        sites[Stance.SUPPORTS],
        sites[Stance.CONTRADICTS],
        tuple((rank, found) for rank, found in told if found is not None),
    )


def _verdict(event: AnswerEvent, stance: Stance | None) -> ClaimVerdict:
    if event.status is AnswerStatus.DISPUTED or event.abstention is Abstention.OUTWEIGHED:
        return ClaimVerdict.DISPUTED
    if event.abstention is not None or stance is None:
        return ClaimVerdict.NOT_ENOUGH_EVIDENCE
    return ClaimVerdict.SUPPORTED if stance is Stance.SUPPORTS else ClaimVerdict.REFUTED
