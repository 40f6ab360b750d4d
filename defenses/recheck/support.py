"""Checks the support and the status of an answer event: they follow from what documents say."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from radarstream.defenses.kernels.independence import voices
from radarstream.defenses.protocol import EVIDENCE, Signal, needs_at
from radarstream.defenses.radar import Radar
from radarstream.defenses.recheck.checks import TOLERANCE, Check, Outcome, check_of
from radarstream.schemas.answer_text import spelling
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import AGREEMENT
from radarstream.schemas.sites import owner_of
from radarstream.schemas.support import (
    AnswerStatus,
    Stance,
    Support,
    lacks_support,
    status_of,
)
from radarstream.schemas.verdict import MEMORY_NODE, Abstention

NEARLY = 1e-3  # of relations that were asked for twice
UNSUPPORTED = (Abstention.THIN_EVIDENCE, Abstention.OUTWEIGHED)
UNCONFIRMED = (AnswerStatus.ABSTAINED, AnswerStatus.REMEMBERED)
Stances = Sequence[Stance]
Relation = dict[int, dict[int, float]]  # of two nodes


def support_check(event: AnswerEvent, defense: Any) -> Check:
    """Whether the figures follow from the stances, and these fit the documents."""
    support, due = event.support, event.abstention is None or event.abstention in UNSUPPORTED
    if (support is not None) != due:
        return Check("support", Outcome.WRONG, f"{event.abstention or 'an answer'} and {support}")
    if support is None:
        return Check("support", Outcome.RIGHT, "no answer")
    told = f"{support.sites_for} for, {support.sites_against} against"
    return check_of("support", support_flaws(event, support, defense), told)


def support_flaws(event: AnswerEvent, support: Support, defense: Any) -> Iterator[str]:
    """What does not follow from the stances, and stances that the documents rule out."""
    owners, every = owners_of(event, defense), support.stances_for + support.stances_against
    ranks = [rank for rank, _, _ in every]
    if len(ranks) != len(set(ranks)) or not owners.keys() >= set(ranks):
        yield "a document is for and against, or says nothing"
        return
    if any(not AGREEMENT <= weight <= 1.0 for _, weight, _ in every):
        yield "a stance without a probability"
    for name, stances in (("for", support.stances_for), ("against", support.stances_against)):
        yield from side_flaws(support, name, stances, owners)
    yield from unlike_answers(event, support)
    yield from unlike_relations(event, support, defense)
    yield from rival_flaws(event, support, defense)
    for name, recorded, computed in (
        ("margin", support.margin, support.balance.margin),
        ("confidence", support.confidence, support.balance.confidence),
    ):
        if abs(recorded - computed) > TOLERANCE:
            yield f"{name} {recorded:.6f} is recorded, {computed:.6f} computed"


def owners_of(event: AnswerEvent, defense: Any) -> dict[int, str]:
    """The owners of the documents that count, by rank: of those with an atomic answer, or of all
    that were seen if the defence asked for none. One without an address is its own.
    """
    everybody = not EVIDENCE & needs_at(defense, len(event.seen))
    url_of = {source.rank: source.url for source in event.sources}
    return {
        d.rank: owner_of(url_of.get(d.rank, "")) or f"/{d.rank}"
        for d in event.seen
        if everybody or d.atomic_answer is not None
    }


def side_flaws(
    support: Support, name: str, stances: Stances, owners: dict[int, str]
) -> Iterator[str]:
    """Where the counts and the weight of one side are not those of its stances."""
    documents, sites = getattr(support, f"documents_{name}"), getattr(support, f"sites_{name}")
    if documents != len(stances):
        yield f"{documents} documents {name} it, of {len(stances)} stances"
    members: dict[int, list[int]] = {}
    for rank, _, voice in stances:
        members.setdefault(voice, []).append(rank)
    if [rank for rank, _, _ in stances] != sorted(rank for rank, _, _ in stances) or any(
        voice != ranks[0] for voice, ranks in members.items()
    ):
        yield f"a voice {name} it is not that of its best document"
    whose = {voice: {owners[rank] for rank in ranks} for voice, ranks in members.items()}
    alone = [next(iter(each)) for each in whose.values() if len(each) == 1]
    if len(alone) != len(set(alone)):  # a copy may keep pages of one owner apart, nothing else
        yield f"one site has two voices {name} it"
    most = min(len(whose), len(set().union(*whose.values())))
    if not min(1, most) <= sites <= most:
        yield f"{sites} sites {name} it, of {most} voices"
    weight, found = getattr(support, f"weight_{name}"), weight_of(stances)
    if abs(weight - found) > TOLERANCE:
        yield f"weight {weight:.6f} {name} it is recorded, {found:.6f} computed"


def weight_of(stances: Stances) -> float:
    """What documents weigh together."""
    weights, groups = [s[1] for s in stances], [s[2] for s in stances]
    return voices(np.array(weights, dtype=np.float64), np.array(groups, dtype=np.int_))


def unlike_answers(event: AnswerEvent, support: Support) -> Iterator[str]:
    """What answers in the very words of the answer rule out."""
    previous = event.verdict.memory.previous_answer
    if previous is None and support.memory:
        yield "a memory without a previous answer"
    if event.abstention is not None:
        return
    if previous == event.answer and support.memory != 1.0:
        yield "the previous answer is this one, and does not agree"
    said = {rank: weight for rank, weight, _ in support.stances_for}
    for document in event.seen:
        if document.atomic_answer == event.answer and said.get(document.rank) != 1.0:
            yield f"document {document.rank} gives the answer, and is not for it"


def unlike_relations(event: AnswerEvent, support: Support, defense: Any) -> Iterator[str]:
    """What edges and conflicts rule out, where a document or the memory gives the answer."""
    texts = texts_of(event)
    said = {rank: weight for rank, weight, _ in support.stances_for}
    denied = {rank: weight for rank, weight, _ in support.stances_against}
    same = next((node for node, text in texts.items() if text == event.answer), None)
    if same is None or event.abstention is not None:
        return
    agreement, conflict = relations_of(event, defense)
    for node, found in agreement.get(same, {}).items():
        against = conflict[same][node]
        if texts[node] == event.answer:  # in the same words, whatever a scorer says
            continue
        if node == MEMORY_NODE:
            if abs(support.memory - found + against) > NEARLY:
                yield f"the memory agrees by {found - against:.6f}"
        elif not fits(said.get(node), found):
            yield f"document {node} agrees by {found:.6f}"
        elif node not in said and not fits(denied.get(node), against):
            yield f"document {node} contradicts by {against:.6f}"


def fits(told: float | None, found: float) -> bool:
    """Whether a probability that makes a stance is told where it is one, and is that."""
    return abs(told - found) <= NEARLY if told is not None else found < AGREEMENT + NEARLY


def texts_of(event: AnswerEvent) -> dict[int, str]:
    """What documents say, and the previous answer, last."""
    texts = {d.rank: d.atomic_answer for d in event.seen if d.atomic_answer is not None}
    previous = event.verdict.memory.previous_answer
    return texts if previous is None else texts | {MEMORY_NODE: previous}


def relations_of(event: AnswerEvent, defense: Any) -> tuple[Relation, Relation]:
    """How far the nodes of a cut agree, and conflict, with each other; empty where the event does
    not tell.
    """
    if event.verdict.energy is None or not isinstance(defense, Radar):
        return {}, {}
    if not defense.pair_scale:
        return {}, {}
    found = []
    for edges, scale in ((event.verdict.edges, defense.pair_scale), (event.verdict.conflicts, 1.0)):
        relation = {node: dict.fromkeys(texts_of(event), 0.0) for node in texts_of(event)}
        for one, other, value in edges:
            relation[one][other] = relation[other][one] = value / scale
        found.append(relation)
    return found[0], found[1]


def knows_rival(event: AnswerEvent, defense: Any) -> bool:
    """Whether the event tells which documents against its answer agree with each other."""
    if event.support is None or not event.support.stances_against:
        return True
    asked = Signal.RELATIONS in needs_at(defense, len(event.seen))
    return not asked or bool(relations_of(event, defense)[0])


def rival_flaws(event: AnswerEvent, support: Support, defense: Any) -> Iterator[str]:
    """Where the strongest other answer is not that of the documents against."""
    (agreement, _), texts = relations_of(event, defense), texts_of(event)
    against = support.stances_against

    def alike(one: int, other: int) -> bool:
        a, b = (spelling(texts[rank]) or texts[rank] for rank in (one, other))
        return a == b or agreement.get(one, {}).get(other, 0.0) >= AGREEMENT - TOLERANCE

    strengths = {
        rank: weight_of([stance for stance in against if alike(rank, stance[0])])
        for rank, _, _ in against
        if rank in texts
    }
    strongest = max(strengths, key=lambda rank: strengths[rank], default=None)
    least = 0.0 if strongest is None else strengths[strongest]
    rival = None if strongest is None else texts[strongest]
    if knows_rival(event, defense):
        if abs(support.rival - least) > TOLERANCE:
            yield f"a rival of {support.rival:.6f} is recorded, {least:.6f} computed"
        if support.rival_answer != rival:
            yield f"the rival answer is {rival!r}"
    elif not least - TOLERANCE <= support.rival <= support.weight_against + TOLERANCE:
        yield f"a rival cannot have weight {support.rival:.6f}"
    elif support.rival_answer not in [texts[rank] for rank in strengths]:
        yield "no document against it gives the rival answer"


def status_check(event: AnswerEvent) -> Check:
    """Whether the status follows from the support, and an answer is given only if it has enough."""
    found = status_of(None if event.abstention is not None else event.support)
    return check_of("status", status_flaws(event, found), str(found))


def status_flaws(event: AnswerEvent, found: AnswerStatus) -> Iterator[str]:
    """What does not follow from the support."""
    if event.status is not found:
        yield f"{event.status} is recorded, it is {found}"
    if event.standing is not None and found not in UNCONFIRMED:
        yield "another answer stands beside a confirmed one"
    if event.support is not None:
        least = event.min_support
        if lacks_support(event.support, least) is not event.abstention:
            yield f"{event.abstention or 'an answer'} does not follow with min_support {least}"
