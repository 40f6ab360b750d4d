"""Gathers the evidence of each snapshot: documents that are not withheld, texts, atomic answers,
relations. A step is one batch per model; an item that fails is an error in its place.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from time import monotonic
from typing import NamedTuple

from sqlalchemy import Engine

from radarstream.connectors.state_table.incidents.quarantine import withheld_keys
from radarstream.connectors.state_table.sources import blocked
from radarstream.defenses.protocol import EVIDENCE, Signal
from radarstream.pipelines.round import values
from radarstream.pipelines.round.values import Observed
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.evidence import answer_documents, relate_answers
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models, RelationScorer
from radarstream.pipelines.signals.prompts import in_its_form
from radarstream.pipelines.signals.reading import as_read, is_long
from radarstream.pipelines.signals.reranking import LeftOut
from radarstream.pipelines.signals.responses import isolating
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.incidents import text_key
from radarstream.schemas.snapshot import Document, SearchSnapshot
from radarstream.schemas.verdict import Reason

# Returns the documents of each snapshot that no model may see, with the reasons.
Rule = Callable[[Sequence[SearchSnapshot]], Sequence[tuple[LeftOut, ...]]]


def withhold(rules: Sequence[Rule], snapshots: Sequence[SearchSnapshot]) -> list[Observed]:
    """Apply the rules one after the other; ranks stay."""
    return reduce(_without, rules, [Observed(snapshot) for snapshot in snapshots])


def _without(items: Sequence[Observed], rule: Rule) -> list[Observed]:
    found = rule([item.snapshot for item in items])
    return [
        leave_out(item, left_out) if left_out else item
        for item, left_out in zip(items, found, strict=True)
    ]


def leave_out(item: Observed, left_out: Sequence[LeftOut]) -> Observed:
    """Remove documents from a snapshot, and note them."""
    gone = [document for document, _ in left_out]
    kept = tuple(document for document in item.snapshot.documents if document not in gone)
    shorter = replace(item.snapshot, documents=kept)
    return replace(item, snapshot=shorter, left_out=(*item.left_out, *left_out))


@dataclass(frozen=True)
class Quarantined:
    """Withholds documents in quarantine, by one read for all snapshots."""

    engine: Engine

    def __call__(self, snapshots: Sequence[SearchSnapshot]) -> list[tuple[LeftOut, ...]]:
        """Return the documents in quarantine."""
        keys = withheld_keys(self.engine, [snapshot.query.id for snapshot in snapshots])

        def held(snapshot: SearchSnapshot) -> tuple[Document, ...]:
            if not (of_query := keys.get(snapshot.query.id)):
                return ()
            return tuple(d for d in snapshot.documents if text_key(d) in of_query)

        return [tuple((d, Reason.QUARANTINED) for d in held(s)) for s in snapshots]


@dataclass(frozen=True)
class Blocked:
    """Withholds documents of sources that a person blocked, by one read for all snapshots."""

    engine: Engine

    def __call__(self, snapshots: Sequence[SearchSnapshot]) -> list[tuple[LeftOut, ...]]:
        """Return the documents of blocked sources."""
        found = blocked(self.engine, snapshots)
        return [tuple((d, Reason.BLOCKED) for d in documents) for documents in found]


# Whether the evidence is enough, given the number of unread documents.
Enough = Callable[[Evidence, float], bool]
WithBefore = tuple[Evidence, Evidence | None]  # evidence, and its part with relations
Joined = tuple[Evidence, Evidence, frozenset[Signal]]  # the same, and the needed signals


class ReadingPlan(NamedTuple):
    """The signals that a defence needs, and when it has read enough; without that it reads all."""

    needs: values.Needs
    enough: Enough | None
    settings: ReadingSettings


def gather(
    items: Sequence[values.Chosen], plan: ReadingPlan, models: Models, costs: Costs
) -> list[values.Ready | Failure]:
    """Gather the evidence of snapshots, as `read_on`."""
    wholes = read([item.snapshot for item in items], plan.settings, models, costs)
    unread = [
        values.Ready(item, whole, part_of(whole, 0))
        for item, whole in zip(items, wholes, strict=True)
    ]
    return read_on(unread, [0] * len(items), plan, models, costs)


def read_on(
    items: Sequence[values.Ready],
    least: Sequence[int],
    plan: ReadingPlan,
    models: Models,
    costs: Costs,
) -> list[values.Ready | Failure]:
    """Read in rank order, block by block, until `least` documents are read and it is enough.

    Each block of all snapshots is one batch per model; known answers are not requested again. A
    defence that reads all, or needs no atomic answers, has one block.
    """
    started = monotonic()
    needs, enough, reading = plan
    found: list[values.Ready | Failure] = list(items)

    def end_of(one: values.Ready, place: int) -> int:
        if enough is None or not needs(one.whole) & EVIDENCE:
            return len(one.whole.documents)
        after = len(one.evidence.documents) + reading.block
        return min(max(after, least[place]), most_of(one.whole, reading))

    def is_open(one: values.Ready, place: int) -> bool:
        count = len(one.evidence.documents)
        unread = most_of(one.whole, reading) - count
        if enough is None or one.evidence.answers is None or unread <= 0:
            return False
        return count < least[place] or not enough(one.evidence, unread)

    alive = list(enumerate(items))
    while alive:
        blocks = [(one.evidence, one.whole, end_of(one, place)) for place, one in alive]
        for (place, one), more in zip(alive, widen(blocks, needs, models, costs), strict=True):
            found[place] = more if isinstance(more, Failure) else replace(one, evidence=more)
        late = monotonic() - started > reading.most_seconds
        alive = [
            (place, now)
            for place, _ in alive
            if not late and isinstance(now := found[place], values.Ready) and is_open(now, place)
        ]
    return found


def widen(
    items: Sequence[tuple[Evidence, Evidence, int]],
    needs: values.Needs,
    models: Models,
    costs: Costs,
) -> list[Evidence | Failure]:
    """Extend evidence to the given number of documents of the whole snapshot."""

    def ask(some: Sequence[tuple[Evidence, Evidence, int]]) -> list[Evidence | Failure]:
        blocks = [
            replace(whole, documents=whole.documents[len(before.documents) : end])
            for before, whole, end in some
        ]
        wanted = [needs(whole) for _, whole, _ in some]
        joined = [
            block if isinstance(block, Failure) else (join(before, block), before, needed)
            for (before, _, _), block, needed in zip(
                some, answer(blocks, wanted, models, costs), wanted, strict=True
            )
        ]
        return values.onward(joined, related)

    def related(some: Sequence[Joined]) -> list[Evidence | Failure]:
        together, before, needed = zip(*some, strict=True)
        return relate(together, needed, models, costs, before)

    asked = values.where([whole.answers is None for _, whole, _ in items], items, ask)
    return [one or part_of(whole, end) for (_, whole, end), one in zip(items, asked, strict=True)]


def join(before: Evidence, block: Evidence) -> Evidence:
    """Add a block of documents to evidence, without relations."""
    answers = None if block.answers is None else (before.answers or ()) + block.answers
    documents = before.documents + block.documents
    return replace(before, documents=documents, answers=answers, relations=None)


def part_of(evidence: Evidence, documents: int) -> Evidence:
    """Return the evidence of the first documents."""
    answers = None if evidence.answers is None else evidence.answers[:documents]
    part = replace(
        evidence, documents=evidence.documents[:documents], answers=answers, relations=None
    )
    if evidence.relations is None:
        return part
    n = len(part.informative)
    known = evidence.relations
    return replace(part, relations=Relations(known.entailment[:n, :n], known.contradiction[:n, :n]))


def most_of(whole: Evidence, reading: ReadingSettings) -> int:
    """Return how many documents of a snapshot may be read."""
    return min(len(whole.documents), reading.most_documents)


def read(
    snapshots: Sequence[SearchSnapshot], reading: ReadingSettings, models: Models, costs: Costs
) -> list[Evidence]:
    """Return the documents as models read them, long ones by their windows."""

    def work(wanted: Sequence[SearchSnapshot]) -> list[SearchSnapshot]:
        with values.charging(values.Stage.READING, models, costs, wanted):
            return as_read(wanted, reading)

    wanted = [any(is_long(s.query, d, reading) for d in s.documents) for s in snapshots]
    return [
        bare(found or snapshot)
        for snapshot, found in zip(snapshots, values.where(wanted, snapshots, work), strict=True)
    ]


def bare(snapshot: SearchSnapshot) -> Evidence:
    """Return the documents of a snapshot as evidence, without answers."""
    return Evidence(snapshot.query, snapshot.observed_at, snapshot.documents)


def answer(
    evidences: Sequence[Evidence], needs: Sequence[frozenset[Signal]], models: Models, costs: Costs
) -> list[Evidence | Failure]:
    """Add the atomic answers of documents, if they are needed."""

    def in_one_form(
        part: Sequence[Evidence], asked: Models
    ) -> list[tuple[AtomicAnswer, ...] | ModelError]:
        return isolating(partial(answer_documents, costs.around(asked).generator), part)

    def work(wanted: Sequence[Evidence]) -> list[tuple[AtomicAnswer, ...] | ModelError]:
        with values.charging(values.Stage.ANSWERS, models, costs, wanted):
            return in_its_form(wanted, lambda e: e.query.long_form, in_one_form, models)

    wanted = [bool(needed & EVIDENCE) for needed in needs]
    return [
        found if isinstance(found, ModelError) else replace(evidence, answers=found)
        for evidence, found in zip(evidences, values.where(wanted, evidences, work), strict=True)
    ]


def relate(
    evidences: Sequence[Evidence],
    needs: Sequence[frozenset[Signal]],
    models: Models,
    costs: Costs,
    before: Sequence[Evidence | None] | None = None,
) -> list[Evidence | Failure]:
    """Add the relations between the answers of each snapshot, if needed; those of `before` are
    known.
    """

    def ask(scorer: RelationScorer, some: Sequence[WithBefore]) -> list[Relations]:
        return relate_answers(scorer, [one for one, _ in some], [known for _, known in some])

    def work(wanted: Sequence[WithBefore]) -> list[Relations | ModelError]:
        joined = [one for one, _ in wanted]
        with values.charging(values.Stage.RELATIONS, models, costs, joined):
            return isolating(partial(ask, costs.around(models).relations), wanted)

    pairs = list(zip(evidences, before or [None] * len(evidences), strict=True))
    wanted = [Signal.RELATIONS in needed for needed in needs]
    return [
        found if isinstance(found, ModelError) else replace(evidence, relations=found)
        for evidence, found in zip(evidences, values.where(wanted, pairs, work), strict=True)
    ]
