"""Checks the support and the status of an answer event, which follow from its documents."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from radarstream.defenses.protocol import EVIDENCE, needs_at
from radarstream.defenses.radar import Radar
from radarstream.defenses.recheck.checks import TOLERANCE, Check, Outcome, check_of
from radarstream.defenses.recheck.cut import recorded_graph
from radarstream.defenses.voices import Voices
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import AGREEMENT
from radarstream.schemas.sites import owner_of
from radarstream.schemas.snapshot import LONG_FORM
from radarstream.schemas.support import (
    AnswerStatus,
    Stance,
    Support,
    confidence_of,
    lacks_support,
    status_of,
    still_to_lie,
)
from radarstream.schemas.verdict import MEMORY_NODE, TORN

NEARLY = 1e-3  # between two results of a model for the same relation
UNCONFIRMED = (AnswerStatus.ABSTAINED, AnswerStatus.REMEMBERED)
Stances = Sequence[Stance]


def support_check(event: AnswerEvent, defense: Any) -> Check:
    """Check that the figures follow from the stances, and that these fit the documents."""
    support, due = event.support, event.verdict.weighed is not None
    if (support is not None) != due:
        return Check("support", Outcome.WRONG, f"{event.abstention or 'an answer'} and {support}")
    if support is None:
        return Check("support", Outcome.RIGHT, "no answer")
    detail = f"{support.sites_for} for, {support.rival_sites} for the strongest rival"
    return check_of("support", support_flaws(event, support, defense), detail)


def support_flaws(event: AnswerEvent, support: Support, defense: Any) -> Iterator[str]:
    """Yield figures that do not follow from the stances, and stances that contradict documents."""
    owners, every = owners_of(event, defense), support.stances_for + support.stances_against
    ranks = [rank for rank, _ in every]
    if len(ranks) != len(set(ranks)) or not owners.keys() >= set(ranks):
        yield "a document is both for and against, or has no answer"
        return
    if any(not AGREEMENT <= weight <= 1.0 for _, weight in every):
        yield "a stance without a probability"
    for name, sites, stances in sides(support):
        if [rank for rank, _ in stances] != sorted(rank for rank, _ in stances):
            yield f"stances {name} it are not in order"
        most = speaking(owners, stances)
        if not min(1, most) <= sites <= most:
            yield f"{sites} sites {name} it, of {len(stances)} documents"
    torn = torn_in(event, owners, defense)
    yield from unlike_answers(event, support, torn)
    yield from unlike_relations(event, support, defense, torn)
    texts = {document.rank: document.atomic_answer for document in event.seen}
    rivals = {texts.get(rank) for rank in support.ranks_against if support.rival_sites} or {None}
    if support.rival_answer not in rivals:
        yield "no document against it gives the rival answer"
    confidence = confidence_of(support.sites_for, support.rival_sites, support.memory)
    if abs(support.confidence - confidence) > TOLERANCE:
        yield f"confidence {support.confidence:.6f} is recorded, {confidence:.6f} computed"
    due: tuple[int | None, int | None] = (None, None)
    if event.withstand is not None and event.abstention is None:
        due = still_to_lie(support.sites_for, support.rival_sites, event.withstand)
    if (support.to_silence, support.to_change) != due:
        yield f"to silence and to change the answer takes {due} lying sites"


def sides(support: Support) -> tuple[tuple[str, int, Stances], ...]:
    """Return number of sites and stances, for the answer and against it."""
    return (
        ("for", support.sites_for, support.stances_for),
        ("against", support.rival_sites, support.stances_against),
    )


def speaking(owners: dict[int, str], stances: Stances) -> int:
    """Count the documents with a stance that are the best ranked of their owner."""
    best = {owner: rank for rank, owner in reversed(owners.items())}
    return sum(best[owners[rank]] == rank for rank, _ in stances)


def owners_of(event: AnswerEvent, defense: Any) -> dict[int, str]:
    """Return the owners of the documents with an atomic answer, by rank; of all documents if the
    defence needs no answers. A document without an address has an owner of its own.
    """
    everybody = not EVIDENCE & needs_at(defense, len(event.seen))
    url_of = {source.rank: source.url for source in event.sources}
    return {
        d.rank: owner_of(url_of.get(d.rank, "")) or f"/{d.rank}"
        for d in event.seen
        if everybody or d.atomic_answer is not None
    }


def torn_in(event: AnswerEvent, owners: dict[int, str], defense: Any) -> set[int]:
    """Return the documents of owners that contradict themselves. For defences that do not record
    it, these are the documents of owners with several answers.
    """
    if isinstance(defense, Voices):
        return {d.rank for d in event.seen if d.reason in TORN}
    said: dict[str, set[str | None]] = defaultdict(set)
    for document in event.seen:
        if document.rank in owners:
            said[owners[document.rank]].add(document.atomic_answer)
    return {rank for rank, owner in owners.items() if len(said[owner]) > 1}


def unlike_answers(event: AnswerEvent, support: Support, torn: set[int]) -> Iterator[str]:
    """Yield stances that contradict answers with the same words."""
    previous = event.verdict.memory.previous_answer
    if previous is None and support.memory:
        yield "a memory without a previous answer"
    answer = event.verdict.weighed
    if previous == answer and support.memory != 1.0:
        yield "the previous answer is this one, and does not agree"
    said = dict(support.stances_for)
    for document in event.seen:
        if document.rank in torn:
            continue
        if document.atomic_answer == answer and said.get(document.rank) != 1.0:
            yield f"document {document.rank} gives the answer, and is not for it"


def unlike_relations(
    event: AnswerEvent, support: Support, defense: Any, torn: set[int]
) -> Iterator[str]:
    """Yield stances that contradict edges and conflicts, if a node gives the answer."""
    answer, verdict = event.verdict.weighed, event.verdict
    if verdict.energy is None or not isinstance(defense, Radar | Voices):
        return
    graph = recorded_graph(verdict)
    if answer not in graph.texts:
        return
    size = sum(node != MEMORY_NODE for node in graph.nodes)
    scale = defense.pair_scale if isinstance(defense, Radar) else 1.0 / max(1, size)
    if not scale:
        return
    same = graph.texts.index(answer)
    said, denied = dict(support.stances_for), dict(support.stances_against)
    agreement, conflict = (graph.pair[same] / scale).tolist(), graph.conflict[same].tolist()
    for node, text, found, against in zip(
        graph.nodes, graph.texts, agreement, conflict, strict=True
    ):
        if text == answer or node in torn:  # in the same words, whatever a scorer says
            continue
        if node == MEMORY_NODE:
            most = AGREEMENT if isinstance(defense, Voices) and not found else found
            if not found - NEARLY <= support.memory + against <= most + NEARLY:
                yield f"the memory agrees by {found - against:.6f}"
        elif not fits(said.get(node), found):
            yield f"document {node} agrees by {found:.6f}"
        elif node not in said and not fits(denied.get(node), against):
            yield f"document {node} contradicts by {against:.6f}"


def fits(recorded: float | None, computed: float) -> bool:
    """Whether a recorded stance has the computed probability, or there is none below AGREEMENT."""
    return (
        abs(recorded - computed) <= NEARLY
        if recorded is not None
        else computed < AGREEMENT + NEARLY
    )


def status_check(event: AnswerEvent, defense: Any) -> Check:
    """Check that the status follows from the support, and that a given answer has enough."""
    support = None if event.abstention is not None else event.support
    found = status_of(support, event.withstand)
    return check_of("status", status_flaws(event, found, defense), str(found))


def status_flaws(event: AnswerEvent, found: AnswerStatus, defense: Any) -> Iterator[str]:
    """Yield what does not follow from the support."""
    if event.status is not found:
        yield f"{event.status} is recorded, {found} computed"
    if event.standing is not None and found not in UNCONFIRMED:
        yield "another answer stands beside a confirmed one"
    rule = getattr(defense, "withstand", None)
    if event.withstand != rule and not (event.withstand is None and LONG_FORM in event.tags):
        yield f"{event.withstand} is recorded, the defence withstands another number of sites"
    if event.support is None or event.withstand is None:
        return
    lacking = lacks_support(event.support.sites_for, event.support.rival_sites, event.withstand)
    remembered = event.answer == event.verdict.memory.previous_answer and event.abstention is None
    if lacking is not event.abstention and not (lacking and remembered):
        given = event.abstention or "an answer"
        yield f"{given} does not follow where {event.withstand} sites may lie"
