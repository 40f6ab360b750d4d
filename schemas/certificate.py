"""What it takes to change an answer: a proved lower bound, and the smallest attack found."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from radarstream.schemas.snapshot import Strict


class Change(StrEnum):
    """How an attacker's documents get into a snapshot."""

    ADDED = "added"  # beside the present ones, at any ranks
    REPLACED = "replaced"  # each in the place of a present one, at any ranks


class Assumption(StrEnum):
    """What a certificate needs to be true; `docs/certificates.md` has the proofs."""

    WRITTEN = "written"  # it is that of the largest group of kept answers that agree
    KEYWORDS = "keywords"  # the answer depends on the shown words alone
    FIXED = "fixed"  # answers of and relations between present documents stay as they are
    OPPOSED = "opposed"  # added documents hardly entail those that support the answer
    PROPER = "proper"  # entailment and contradiction of a pair sum to at most 1
    NOT_ISOLATED = (
        "not_isolated"  # the similarity check drops none of those that support the answer
    )
    SILENCE = "silence"  # giving no answer is not counted as another answer


class Attack(StrEnum):
    """An attack that was tried."""

    NEW_CLAIM = "new_claim"  # equal answers at the top ranks that contradict all others
    JOINED_CLAIM = "joined_claim"  # the same, in agreement with the strongest rejected claim
    DECOY = "decoy"  # the same, but one of them contradicts nobody
    SPLIT = "split"  # contradict no more of the kept documents than they are themselves
    BRIDGE = "bridge"  # agreeing with those that support the answer, too: the scorer is deceived


@dataclass(frozen=True, slots=True)
class Needed(Strict):
    """Fewer documents, or fewer sites, than these never change the answer: proved."""

    documents: Annotated[int, Field(ge=1)]
    sites: Annotated[int, Field(ge=1)] = 1


@dataclass(frozen=True, slots=True)
class Enough(Strict):
    """So many documents on so many sites did change what the defence answers, in a search over
    attacks. Where sites are counted the new answer may lack support: then nothing is answered.
    """

    documents: Annotated[int, Field(ge=1)]
    sites: Annotated[int, Field(ge=1)]
    attack: Attack


@dataclass(frozen=True, slots=True)
class FlipBound(Strict):
    """Both sides of the number of documents with which the defence gives another answer.

    `remembering` tells whether the previous answer takes part, as it did, or is left out. `needed`
    is None where nothing can be proved, `enough` where no attack was found.
    """

    change: Change
    remembering: bool
    needed: Needed | None
    enough: Enough | None


@dataclass(frozen=True, slots=True)
class SilenceBound(Strict):
    """Both sides of the number of documents that leave an answer without enough support.

    With fewer than `needed` documents the answer is given if it is still that of the defence. So
    many as are `enough` take it away: nothing is answered, or something else; None where the
    snapshot has not so many.
    """

    change: Change
    needed: Annotated[int, Field(ge=1)]
    enough: Annotated[int, Field(ge=1)] | None


@dataclass(frozen=True, slots=True)
class Certificate(Strict):
    """What it takes to change one answer: `bounds` to another one, `silence` to none.

    `options` are those of the defence, as JSON, so that anybody can compute the bounds again.
    `reason` says why nothing can be proved; empty if something is. `deceived` is the smallest
    attack that was found outside of the assumption `opposed`, by documents that the relation
    scorer wrongly sees in agreement with what they contradict. `min_support` is how many
    independent sites an answer had to have; `silence` has bounds if that is not 0.
    """

    options: str
    bounds: tuple[FlipBound, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    reason: str = ""
    deceived: Enough | None = None
    min_support: Annotated[int, Field(ge=0, le=100)] = 0
    silence: tuple[SilenceBound, ...] = ()
