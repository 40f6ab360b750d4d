"""How many documents, and sites, change an answer of RADAR+."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from radarstream.defenses.certificates.parts import fewest, proved, seen_documents, unproved
from radarstream.defenses.kernels.certificate_cut import Rule, documents_to_flip
from radarstream.defenses.kernels.min_cut import min_cut
from radarstream.defenses.kernels.radar import bayes
from radarstream.defenses.kernels.votes import Ballot, Remembered, keep_shares, site_members
from radarstream.defenses.kernels.worst_case_cut import AGREEMENT, CLOSE, one_claim
from radarstream.defenses.radar_plus import RadarPlus
from radarstream.schemas.certificate import (
    Assumption,
    Attack,
    Certificate,
    Change,
    Enough,
    FlipBound,
    Needed,
)
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Belief
from radarstream.schemas.sites import site_of
from radarstream.schemas.verdict import MEMORY_NODE, SOURCE_SIDE, MemoryDecision, Verdict

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

ASSUMPTIONS = (
    Assumption.WRITTEN,
    Assumption.OPPOSED,
    Assumption.FIXED,
    Assumption.NOT_ISOLATED,
)


def certify_radar_plus(defense: RadarPlus, event: AnswerEvent) -> Certificate:
    """The bound of `kernels/certificate_cut.py`, and the smallest attack that was found."""
    reason = why_unproved(defense, event.verdict)
    if reason:
        return unproved(defense, reason)
    ballot = ballot_of(defense, event)
    kept = recorded_sides(event.verdict)
    bounds = [
        FlipBound(change, ballot.remembered is not None, *found)
        for change, found in both_changes(defense, ballot, kept).items()
    ]
    if ballot.remembered is not None:
        forgetting = replace(ballot, remembered=None)
        sides = sides_of(defense, forgetting)
        bounds += [
            FlipBound(change, False, *found)
            for change, found in both_changes(defense, forgetting, sides).items()
        ]
    return proved(defense, bounds, ASSUMPTIONS)


def why_unproved(defense: RadarPlus, verdict: Verdict) -> str:
    """Why nothing can be said of a verdict; empty if something can."""
    if verdict.abstained:
        return "there is no answer to change"
    if verdict.energy is None:
        return "no document answers by itself, the previous answer stands"
    if not defense.votes or not defense.half_life_days:
        return "without votes or their memory RADAR+ has no proof"
    if defense.source_prior:
        return "the past of the sources counts, too, and is not in the event"
    if not defense.pair_scale:
        return "without pair_scale the event does not tell which answers agree"
    if defense.on_empty != "abstain":
        return "a fall-back answers where the cut keeps nothing"
    return ""


def ballot_of(defense: RadarPlus, event: AnswerEvent) -> Ballot:
    """Who voted, as far as the event tells: agreements from capacities, sites from addresses."""
    ranks = [d.rank for d in seen_documents(event) if d.keep_evidence is not None]
    memory = event.verdict.memory
    remembers = memory.support_posterior is not None
    place = {rank: i for i, rank in enumerate([*ranks, *[MEMORY_NODE] * remembers])}
    n = len(place)
    scale = n * n / defense.pair_scale if defense.normalise else 1.0 / defense.pair_scale
    agreement = np.eye(n) * (1.0 if defense.self_support else defense.epsilon)
    for one, other, capacity in event.verdict.edges:
        a, b = place[one], place[other]
        agreement[a, b] = agreement[b, a] = min(1.0, capacity * scale)
    url_of = {source.rank: source.url for source in event.sources}
    keys = [site_of(url_of.get(rank, "")) if defense.site_cap else "" for rank in ranks]
    pages, sites = agreement[: len(ranks), : len(ranks)], site_members(keys)
    if not remembers:
        return Ballot(pages, sites)
    recalled = agreement[-1, :-1]
    state = Belief("", 0.0, 0.0, memory.voices or 0.0, memory.documents or 0.0, memory.confirmed_at)
    fade = defense.fade(state, event.observed_at)
    lasting = fade * np.array([state.documents, state.voices])
    node = bayes(memory.support_prior or 0.0, float(recalled.mean())) / 2
    return Ballot(pages, sites, Remembered(recalled, lasting, node, fade))


def recorded_sides(verdict: Verdict) -> BoolArray:
    """The nodes on the source side, (N,), the memory last."""
    sides = [d.reason in SOURCE_SIDE for d in verdict.documents if d.keep_evidence is not None]
    if verdict.memory.support_posterior is not None:
        sides.append(verdict.memory.decision is MemoryDecision.RETAINED)
    return np.array(sides, dtype=np.bool_)


def sides_of(defense: RadarPlus, ballot: Ballot) -> BoolArray:
    """The source side of the cut of a ballot, (N,).

    Equal nodes are one node with their capacities added up. That changes no side: exchanging two
    equal nodes maps the graph to itself, hence also its minimal source side, which is unique, so
    all of them are on one side, and such labellings have the same energy in both graphs.
    """
    source, counts = keep_shares(ballot, defense.sharpness), ballot.counts
    pair = defense.pair_scale * ballot.whole * np.outer(counts, counts)
    np.fill_diagonal(pair, 0.0)
    n = counts.sum() if defense.normalise else 1.0
    return min_cut(counts * source / n, counts * (1.0 - source) / n, pair / (n * n)).kept


def both_changes(
    defense: RadarPlus, ballot: Ballot, kept: BoolArray
) -> dict[Change, tuple[Needed | None, Enough | None]]:
    """What is needed and what is enough, for added and for replaced documents."""
    rule = Rule(defense.sharpness, defense.pair_scale, defense.normalise, AGREEMENT)
    pages = len(ballot.agreement)
    bound = documents_to_flip(ballot, kept, rule, pages_per_site=pages)
    if bound is None:
        return dict.fromkeys(Change, (None, None))
    needed = {
        Change.ADDED: Needed(bound.add, min(bound.add, bound.add_sites)),
        Change.REPLACED: Needed(bound.replace),
    }
    return {c: (needed[c], smallest(defense, ballot, kept, c, needed[c])) for c in Change}


def smallest(
    defense: RadarPlus, ballot: Ballot, kept: BoolArray, change: Change, needed: Needed
) -> Enough | None:
    """The fewest documents on sites of their own that are kept, if any are."""
    pages = len(ballot.agreement)
    own = kept[:pages]
    joined = one_claim(ballot.agreement >= CLOSE, ~own)
    attack = Attack.JOINED_CLAIM if joined.any() else Attack.NEW_CLAIM

    def works(liars: int) -> bool:
        gone = np.flatnonzero(own)[: liars if change is Change.REPLACED else 0]
        return planted_kept(defense, ballot, joined, gone, liars)

    most = int(own.sum()) if change is Change.REPLACED else 2 * pages
    most = max(most, needed.documents)
    found = fewest(works, needed.documents - 1, most + 1, needed.documents)  # a close bound
    return None if found > most else Enough(found, max(needed.sites, found), attack)


def planted_kept(
    defense: RadarPlus, ballot: Ballot, joined: BoolArray, gone: NDArray[np.intp], liars: int
) -> bool:
    """Whether the cut keeps equal liars on sites of their own."""
    stay = np.setdiff1d(np.arange(len(ballot.agreement)), gone)
    size, places = len(stay), ballot.sites.shape[1]
    nodes = 1 if defense.self_support else liars  # equal only if they agree with themselves, too
    agreement = np.ones((size + nodes, size + nodes))
    agreement[:size, :size] = ballot.agreement[np.ix_(stay, stay)]
    agreement[:size, size:] = joined[stay, None]
    agreement[size:, :size] = joined[stay]
    if not defense.self_support:
        np.fill_diagonal(agreement[size:, size:], defense.epsilon)
    sites = np.zeros((size + nodes, places + nodes))
    sites[:size, :places] = ballot.sites[stay]
    sites[size:, places:] = np.eye(nodes)
    copies = np.append(np.ones(places), np.full(nodes, liars / nodes))
    remembered = ballot.remembered
    if remembered is not None:
        recalled = np.append(remembered.agreement[stay], np.zeros(nodes))
        remembered = replace(remembered, agreement=recalled)
    sides = sides_of(defense, Ballot(agreement, sites, remembered, copies=copies))
    return bool(sides[size : size + nodes].any())
