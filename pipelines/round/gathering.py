"""What a defence is given of each snapshot: the texts, what each says, and how that relates.

Each step makes one batch per model. Where an item fails stands its error.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from time import monotonic

from radarstream.defenses.protocol import EVIDENCE, Signal
from radarstream.pipelines.round.values import (
    Chosen,
    Needs,
    Ready,
    Stage,
    charging,
    onward,
    where,
)
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.evidence import answer_documents, relate_answers
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.long_form import in_its_form
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models, RelationScorer
from radarstream.pipelines.signals.reading import as_read, is_long
from radarstream.pipelines.signals.responses import isolating
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.snapshot import SearchSnapshot

# Whether nothing more need be read of evidence to which so many documents may still come.
Enough = Callable[[Evidence, float], bool]
WithBefore = tuple[Evidence, Evidence | None]  # evidence, and what of it is related already
Joined = tuple[Evidence, Evidence, frozenset[Signal]]  # these, and what the defence needs


def gather(
    items: Sequence[Chosen],
    needs: Needs,
    enough: Enough | None,
    reading: ReadingSettings,
    models: Models,
    costs: Costs,
) -> list[Ready | Failure]:
    """Read the documents of snapshots in rank order, block by block, until it is `enough`.

    The snapshots advance together: each block of all of them is one batch per model. Without
    `enough`, and where no atomic answers are needed, all documents are one block.
    """
    started = monotonic()
    wholes = read([item.snapshot for item in items], reading, models, costs)
    found: list[Evidence | Failure] = [replace(whole, documents=()) for whole in wholes]
    ends = [
        borders(len(whole.documents), reading)
        if enough is not None and needs(whole) & EVIDENCE
        else iter((len(whole.documents),))
        for whole in wholes
    ]

    def reads_on(place: int) -> bool:
        one = found[place]
        return not (isinstance(one, Failure) or ends_here(one, wholes[place], enough, reading))

    open_at = set(range(len(items)))
    while open_at:
        some = [
            (place, evidence, end)
            for place in sorted(open_at)
            if isinstance(evidence := found[place], Evidence)
            and (end := next(ends[place], None)) is not None
        ]
        blocks = [(evidence, wholes[place], end) for place, evidence, end in some]
        for (place, *_), one in zip(some, widen(blocks, needs, models, costs), strict=True):
            found[place] = one
        late = monotonic() - started > reading.most_seconds
        open_at = {place for place, *_ in some if not late and reads_on(place)}
    return [
        one if isinstance(one, Failure) else Ready(item, whole, one)
        for item, whole, one in zip(items, wholes, found, strict=True)
    ]


def borders(documents: int, reading: ReadingSettings) -> Iterator[int]:
    """How many documents have been read after each block; one block without documents."""
    most = min(documents, reading.most_documents)
    yield from range(reading.block, most, reading.block)
    yield most


def widen(
    items: Sequence[tuple[Evidence, Evidence, int]], needs: Needs, models: Models, costs: Costs
) -> list[Evidence | Failure]:
    """Add what documents say to evidence, up to the given number of those of the whole snapshot."""
    blocks = [
        replace(whole, documents=whole.documents[len(before.documents) : end])
        for before, whole, end in items
    ]
    wanted = [needs(whole) for _, whole, _ in items]
    answered = answer(blocks, wanted, models, costs)
    joined = [
        block if isinstance(block, Failure) else (join(before, block), before, needed)
        for (before, _, _), block, needed in zip(items, answered, wanted, strict=True)
    ]

    def work(
        some: Sequence[tuple[Evidence, Evidence, frozenset[Signal]]],
    ) -> list[Evidence | Failure]:
        together, before, needed = zip(*some, strict=True)
        return relate(together, needed, models, costs, before)

    return onward(joined, work)


def join(before: Evidence, block: Evidence) -> Evidence:
    """Evidence with one more block of documents, not yet related."""
    answers = None if block.answers is None else (before.answers or ()) + block.answers
    documents = before.documents + block.documents
    return replace(before, documents=documents, answers=answers, relations=None)


def part_of(evidence: Evidence, documents: int) -> Evidence:
    """The first documents of evidence with all that is known of them."""
    answers = None if evidence.answers is None else evidence.answers[:documents]
    part = replace(
        evidence, documents=evidence.documents[:documents], answers=answers, relations=None
    )
    if evidence.relations is None:
        return part
    n = len(part.informative)
    known = evidence.relations
    return replace(part, relations=Relations(known.entailment[:n, :n], known.contradiction[:n, :n]))


def read_out(
    items: Sequence[Ready], needs: Needs, reading: ReadingSettings, models: Models, costs: Costs
) -> list[Ready | Failure]:
    """The same snapshots with every document that may be read; what is known is not asked again."""

    def work(some: Sequence[Ready]) -> list[Evidence | Failure]:
        blocks = [(item.evidence, item.whole, most_of(item.whole, reading)) for item in some]
        return widen(blocks, needs, models, costs)

    widened = where([item.whole.answers is None for item in items], items, work)
    found = [
        one or part_of(item.whole, most_of(item.whole, reading))
        for item, one in zip(items, widened, strict=True)
    ]
    return [
        one if isinstance(one, Failure) else replace(item, evidence=one)
        for item, one in zip(items, found, strict=True)
    ]


def is_unread(ready: Ready, reading: ReadingSettings) -> bool:
    """Whether documents that may be read were not."""
    return len(ready.evidence.documents) < most_of(ready.whole, reading)


def most_of(whole: Evidence, reading: ReadingSettings) -> int:
    """How many documents of a snapshot may be read."""
    return min(len(whole.documents), reading.most_documents)


def as_far_as_needed(
    evidence: Evidence, enough: Enough | None, reading: ReadingSettings
) -> Evidence:
    """What `gather` reads of a snapshot of which everything is known."""
    part = evidence
    if enough is not None and evidence.answers is not None:
        for end in borders(len(evidence.documents), reading):
            part = part_of(evidence, end)
            if ends_here(part, evidence, enough, reading):
                break
    return part


def ends_here(
    evidence: Evidence, whole: Evidence, enough: Enough | None, reading: ReadingSettings
) -> bool:
    """Whether no more of a snapshot need be read."""
    unread = most_of(whole, reading) - len(evidence.documents)
    return enough is not None and enough(evidence, unread)


def is_settled(evidence: Evidence, enough: Enough | None) -> bool:
    """Whether nothing need be read, however many documents there may be elsewhere."""
    return enough is not None and evidence.answers is not None and enough(evidence, inf)


def read(
    snapshots: Sequence[SearchSnapshot], reading: ReadingSettings, models: Models, costs: Costs
) -> list[Evidence]:
    """The texts that models read, long ones by their windows."""

    def work(wanted: Sequence[SearchSnapshot]) -> list[SearchSnapshot]:
        with charging(Stage.READING, models, costs, len(wanted)):
            return as_read(wanted, reading)

    wanted = [any(is_long(s.query, d, reading) for d in s.documents) for s in snapshots]
    return [
        bare(found or snapshot)
        for snapshot, found in zip(snapshots, where(wanted, snapshots, work), strict=True)
    ]


def bare(snapshot: SearchSnapshot) -> Evidence:
    """The documents of a snapshot as evidence."""
    return Evidence(snapshot.query, snapshot.observed_at, snapshot.documents)


def answer(
    evidences: Sequence[Evidence],
    needs: Sequence[frozenset[Signal]],
    models: Models,
    costs: Costs,
) -> list[Evidence | Failure]:
    """Add an answer from every document by itself, where it is needed."""

    def in_one_form(
        part: Sequence[Evidence], asked: Models
    ) -> list[tuple[AtomicAnswer, ...] | ModelError]:
        return isolating(partial(answer_documents, costs.around(asked).generator), part)

    def work(wanted: Sequence[Evidence]) -> list[tuple[AtomicAnswer, ...] | ModelError]:
        with charging(Stage.ANSWERS, models, costs, len(wanted)):
            return in_its_form(wanted, lambda e: e.query.long_form, in_one_form, models)

    wanted = [bool(needed & EVIDENCE) for needed in needs]
    return [
        found if isinstance(found, ModelError) else replace(evidence, answers=found)
        for evidence, found in zip(evidences, where(wanted, evidences, work), strict=True)
    ]


def relate(
    evidences: Sequence[Evidence],
    needs: Sequence[frozenset[Signal]],
    models: Models,
    costs: Costs,
    before: Sequence[Evidence | None] | None = None,
) -> list[Evidence | Failure]:
    """Add the relations between the atomic answers of each snapshot, where they are needed.

    What was related `before` is not asked again.
    """

    def ask(scorer: RelationScorer, some: Sequence[WithBefore]) -> list[Relations]:
        return relate_answers(scorer, [one for one, _ in some], [known for _, known in some])

    def work(wanted: Sequence[WithBefore]) -> list[Relations | ModelError]:
        with charging(Stage.RELATIONS, models, costs, len(wanted)):
            return isolating(partial(ask, costs.around(models).relations), wanted)

    pairs = list(zip(evidences, before or [None] * len(evidences), strict=True))
    wanted = [Signal.RELATIONS in needed for needed in needs]
    return [
        found if isinstance(found, ModelError) else replace(evidence, relations=found)
        for evidence, found in zip(evidences, where(wanted, pairs, work), strict=True)
    ]
