"""How many documents leave an answer without enough support, so that it is not given."""

from math import ceil

from radarstream.defenses.certificates.parts import seen_documents
from radarstream.schemas.certificate import Change, SilenceBound
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import AGREEMENT
from radarstream.schemas.support import Support

SLACK = 1e-9  # of sums of floating-point numbers


def silence_bounds(event: AnswerEvent, min_support: int) -> tuple[SilenceBound, ...]:
    """For added and for replaced documents; none where every answer is given, or there is none."""
    support = event.support
    if not min_support or support is None or event.abstention is not None:
        return ()
    present = len(seen_documents(event))
    return (
        SilenceBound(Change.ADDED, outweighing(support), opposing(support)),
        SilenceBound(
            Change.REPLACED,
            replaced_at_least(support, min_support),
            replaced_at_most(support, min_support, present),
        ),
    )


def lasting_lead(support: Support) -> float:
    """How far the answer is surely ahead of all others together, whatever is added.

    The `sites_for` independent documents keep their weights. Each of the others adds at most 1 to
    the weight for the answer, and each document against it at most 1 to a rival.
    """
    dependent = support.documents_for - support.sites_for
    independent = max(support.weight_for - dependent, AGREEMENT * support.sites_for)
    return independent + support.memory - support.documents_against


def outweighing(support: Support) -> int:
    """Fewer added documents never outweigh the answer; and added ones take no site away."""
    return max(1, ceil(lasting_lead(support) - SLACK))


def opposing(support: Support) -> int:
    """So many added documents outweigh it that agree on another answer, on sites of their own."""
    return max(1, ceil(support.weight_for + support.memory - SLACK))


def replaced_at_least(support: Support, min_support: int) -> int:
    """Fewer replaced documents leave it enough sites, or a memory that agrees, and more weight.

    Each takes one independent document at most, and its weight, and adds as much to a rival.
    """
    outweighed = ceil(lasting_lead(support) / 2 - SLACK)
    if support.memory >= AGREEMENT:
        return max(1, outweighed)
    return max(1, min(outweighed, support.sites_for - min_support + 1))


def replaced_at_most(support: Support, min_support: int, present: int) -> int | None:
    """So many replaced documents take it away: those that leave too few for it, or outweigh it.

    None if there are not so many.
    """
    enough = ceil((support.documents_for + support.memory) / 2 - SLACK)
    if support.memory < AGREEMENT:
        enough = min(enough, support.documents_for - min_support + 1)
    enough = max(1, enough)
    return enough if enough <= present else None
