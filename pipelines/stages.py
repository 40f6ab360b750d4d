"""The stages of an answer, as plain functions over lists.

    snapshots (-> reranked) -> texts as they are read -> atomic answers -> relations -> decisions
              -> events and memories

The job, replays, studies and attribution call these functions; nobody gathers or decides in another
way. A list goes in, and a list of the same length and order comes out, with one batch per model. In
the place of an item that failed stands its error; the others go on. `Query.long_form` decides
whether a query is answered in a few words or at length. `Costs` hears what the models are asked.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from radarstream.defenses.protocol import EVIDENCE, Defense, Relate, Signal
from radarstream.defenses.temporal import without_new_answer
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.evidence import answer_documents, relate_answers
from radarstream.pipelines.signals.fulfilment import Failure as Failure
from radarstream.pipelines.signals.fulfilment import drive, fulfil, refusable
from radarstream.pipelines.signals.long_form import in_its_form
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reading import as_read, is_long
from radarstream.pipelines.signals.reranking import Reranked as Reranked
from radarstream.pipelines.signals.reranking import rerank as rerank
from radarstream.pipelines.signals.responses import isolating
from radarstream.pipelines.signals.support import (
    Known,
    learn,
    means_the_same,
    overhearing,
    pairs_in,
    support_of,
    unknown_relations,
)
from radarstream.schemas.errors import ModelError
from radarstream.schemas.events import AnswerEvent, Source
from radarstream.schemas.evidence import AtomicAnswer, Evidence, Relations
from radarstream.schemas.memory import Memory, StandingAnswer, StateT
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.support import AnswerStatus, Support, lacks_support, status_of
from radarstream.schemas.times import time_at
from radarstream.schemas.verdict import Reason, Verdict

ItemT = TypeVar("ItemT")
OutT = TypeVar("OutT")
Answers = tuple[AtomicAnswer, ...]
Needs = Callable[[SearchSnapshot], frozenset[Signal]]  # the signals that a snapshot must get
Changed = bool | None  # None where there is nothing to compare with


@dataclass(frozen=True, eq=False)
class Gathered:
    """One snapshot with its signals: None if nobody needs it, a ModelError if it failed.

    The snapshot has the texts that models read; `unread` says why it does not.
    """

    snapshot: SearchSnapshot
    answers: Answers | ModelError | None = None
    relations: Relations | ModelError | None = None
    unread: ModelError | None = None

    @property
    def failure(self) -> ModelError | None:
        """Why there are no answers, if that is for an error."""
        return self.answers if isinstance(self.answers, ModelError) else self.unread

    def evidence(self, needs: frozenset[Signal]) -> Evidence | ModelError:
        """What a defence with these needs is given, or why it cannot be."""
        if self.unread is not None:
            return self.unread
        answers = self.answers if needs & EVIDENCE else None
        relations = self.relations if Signal.RELATIONS in needs else None
        if isinstance(answers, ModelError):
            return answers
        if isinstance(relations, ModelError):
            return relations
        s = self.snapshot
        return Evidence(s.query, s.observed_at, s.documents, answers, relations)


@dataclass(frozen=True)
class Decided(Generic[StateT]):
    """A verdict, the state after it, whether the answer differs in meaning from the last, and what
    is behind it; None without an answer.
    """

    verdict: Verdict
    state: StateT
    changed: Changed
    support: Support | None


def gather(
    snapshots: Sequence[SearchSnapshot],
    needs: Needs,
    reading: ReadingSettings,
    models: Models,
    costs: Costs,
) -> list[Gathered]:
    """Read each snapshot and compute the signals that it must get."""
    read_ones = read(snapshots, reading, models, costs)
    return relate(atomic_answers(read_ones, needs, models, costs), needs, models, costs)


def read(
    snapshots: Sequence[SearchSnapshot], reading: ReadingSettings, models: Models, costs: Costs
) -> list[Gathered]:
    """The snapshots with the texts that models read, long ones by their windows."""

    def work(wanted: Sequence[SearchSnapshot]) -> list[SearchSnapshot | ModelError]:
        with costs.stage("reading", models.embedder, records=len(wanted)):
            embedder = costs.around(models).embedder
            return isolating(lambda part: as_read(part, reading, embedder), wanted)

    wanted = [any(is_long(s.query, d, reading) for d in s.documents) for s in snapshots]
    return [
        Gathered(s, unread=found) if isinstance(found, ModelError) else Gathered(found or s)
        for s, found in zip(snapshots, where(wanted, snapshots, work), strict=True)
    ]


def atomic_answers(
    items: Sequence[Gathered], needs: Needs, models: Models, costs: Costs
) -> list[Gathered]:
    """Complete what was read with an answer from every document by itself, where it is needed."""

    def in_one_form(part: Sequence[SearchSnapshot], asked: Models) -> list[Answers | ModelError]:
        return isolating(partial(answer_documents, costs.around(asked).generator), part)

    def work(wanted: Sequence[SearchSnapshot]) -> list[Answers | ModelError]:
        with costs.stage("atomic answers", models.generator, records=len(wanted)):
            return in_its_form(wanted, lambda s: s.query.long_form, in_one_form, models)

    wanted = [item.unread is None and bool(needs(item.snapshot) & EVIDENCE) for item in items]
    found = where(wanted, [item.snapshot for item in items], work)
    return [
        replace(item, answers=item.unread or answers)
        for item, answers in zip(items, found, strict=True)
    ]


def relate(items: Sequence[Gathered], needs: Needs, models: Models, costs: Costs) -> list[Gathered]:
    """Complete atomic answers with their relations, where those are needed."""

    def work(wanted: Sequence[tuple[SearchSnapshot, Any]]) -> list[Relations | ModelError]:
        batches = [(snapshot.query.text, answers) for snapshot, answers in wanted]
        asked = (models.generator, models.relations, models.embedder)
        with costs.stage("relations", *asked, records=len(wanted)):
            return isolating(partial(relate_answers, costs.around(models).relations), batches)

    wanted = [
        Signal.RELATIONS in needs(item.snapshot) and isinstance(item.answers, tuple)
        for item in items
    ]
    related = where(wanted, [(item.snapshot, item.answers) for item in items], work)
    return [replace(item, relations=found) for item, found in zip(items, related, strict=True)]


def undefended_answers(
    baseline: Defense[None] | None,
    evidences: Sequence[Evidence | ModelError],
    models: Models,
    costs: Costs,
) -> list[str | None]:
    """What the baseline says of each snapshot; None without a baseline or where it fails."""
    if baseline is None:
        return [None] * len(evidences)
    with costs.stage("undefended answer", models.generator, records=len(evidences)):
        outcomes = defended(baseline, [(e, None) for e in evidences], models, costs)
    return [o[0].answer if isinstance(o, tuple) else None for o in outcomes]


def decide(
    defense: Defense[StateT],
    items: Sequence[tuple[Evidence | ModelError, StateT]],
    models: Models,
    costs: Costs,
) -> list[Decided[StateT] | Failure]:
    """Run the defence on one snapshot of each of several queries, in lockstep.

    Comparing answers with each other is no part of the defence: no item pays for it.
    """
    counted = (models.generator, models.relations, models.embedder)
    known: list[Known] = [{} for _ in items]
    with costs.stage("defence", *counted, records=len(items)):
        outcomes = defended(defense, items, models, costs, known)
        return weighed([evidence for evidence, _ in items], outcomes, known, models)


def defended(
    defense: Defense[StateT],
    items: Sequence[tuple[Evidence | ModelError, StateT]],
    models: Models,
    costs: Costs,
    known: Sequence[Known] | None = None,
) -> list[tuple[Verdict, StateT] | Failure]:
    """The verdicts of a defence and the states after them; evidence that failed stays as it is.

    Into `known`, one per item, go the relations that the defence asks for.
    """
    heard: Sequence[Known] = [{} for _ in items] if known is None else known

    def in_one_form(
        part: Sequence[tuple[int, tuple[Any, StateT]]], asked: Models
    ) -> list[tuple[Verdict, StateT] | Failure]:
        defending = [
            costs.charged(
                place, overhearing(refusable(defense.defend(evidence, state)), heard[place])
            )
            for place, (evidence, state) in part
        ]
        return drive(defending, costs.around(asked))

    def work(
        wanted: Sequence[tuple[int, tuple[Any, StateT]]],
    ) -> list[tuple[Verdict, StateT] | Failure]:
        return in_its_form(wanted, lambda item: item[1][0].query.long_form, in_one_form, models)

    ready = [isinstance(evidence, Evidence) for evidence, _ in items]
    outcomes = where(ready, list(enumerate(items)), work)
    return [
        evidence if isinstance(evidence, ModelError) else outcome  # type: ignore[misc]
        for (evidence, _), outcome in zip(items, outcomes, strict=True)
    ]


def weighed(
    evidences: Sequence[Evidence | ModelError],
    outcomes: Sequence[tuple[Verdict, StateT] | Failure],
    known: Sequence[Known],
    models: Models,
) -> list[Decided[StateT] | Failure]:
    """Each verdict with what is behind its answer, and whether that means something else than the
    previous one.

    Relations that are not `known` are asked in one batch.
    """
    unclear: dict[int, Relate] = {}
    for place, (evidence, outcome) in enumerate(zip(evidences, outcomes, strict=True)):
        if isinstance(evidence, Evidence) and isinstance(outcome, tuple):
            learn(evidence, outcome[0].answer, known[place])
            if (request := unknown_relations(evidence, outcome[0], known[place])) is not None:
                unclear[place] = request
    failed: dict[int, ModelError] = {}
    for place, rows in fulfil(unclear, models).items():
        if isinstance(rows, ModelError):
            failed[place] = rows
        else:
            known[place].update(pairs_in(unclear[place], rows))
    return [
        failed[place] if place in failed else concluded(evidence, outcome, known[place])
        for place, (evidence, outcome) in enumerate(zip(evidences, outcomes, strict=True))
    ]


def concluded(
    evidence: Evidence | ModelError, outcome: tuple[Verdict, StateT] | Failure, known: Known
) -> Decided[StateT] | Failure:
    """One verdict with its support, from relations that are all known; a failure as it is."""
    if isinstance(evidence, ModelError):
        return evidence
    if isinstance(outcome, Failure):
        return outcome
    verdict, state = named_steering(evidence, outcome[0]), outcome[1]
    if verdict.abstained:
        return Decided(verdict, state, None, None)
    previous = verdict.memory.previous_answer
    changed = None if previous is None else not means_the_same(verdict.answer, previous, known)
    return Decided(verdict, state, changed, support_of(evidence, verdict, known))


def named_steering(evidence: Evidence, verdict: Verdict) -> Verdict:
    """The verdict; a rejected document whose answer does not entail itself is told as steering."""
    if evidence.relations is None:
        return verdict
    itself = np.diagonal(evidence.relations.entailment) < 0.5
    ranks = {evidence.documents[evidence.informative[at]].rank for at in np.flatnonzero(itself)}
    documents = tuple(
        replace(d, reason=Reason.STEERING) if d.rank in ranks and not d.kept else d
        for d in verdict.documents
    )
    return replace(verdict, documents=documents) if ranks else verdict


def conclude(
    name: str,
    models: Models,
    snapshot: SearchSnapshot,
    memory: Memory[StateT],
    decision: Decided[StateT],
    undefended: str | None,
) -> tuple[AnswerEvent, Memory[StateT]]:
    """Turn a decision of the defence `name` into the event to emit and the memory to keep."""
    verdict = decision.verdict
    status = status_of(None if verdict.abstained else decision.support)
    standing = memory.standing
    confirmed = status not in (AnswerStatus.ABSTAINED, AnswerStatus.REMEMBERED)
    if confirmed:
        standing = StandingAnswer(verdict.answer, time_at(snapshot.observed_at_ms))  # as stored
    event = AnswerEvent(
        query_id=snapshot.query.id,
        question=snapshot.query.text,
        step=memory.step,
        snapshot_id=snapshot.id,
        observed_at=snapshot.observed_at,
        provenance=snapshot.provenance,
        defense=name,
        answer=verdict.answer,
        abstention=verdict.abstention,
        changed=decision.changed,
        verdict=verdict,
        status=status,
        support=decision.support,
        standing=None if confirmed else standing,
        sources=tuple(map(Source.of, snapshot.documents)),
        undefended_answer=undefended,
        generator=models.generator.model_id,
        relation_scorer=models.relations.model_id,
        tags=snapshot.query.tags,
    )
    return event, Memory(memory.step + 1, decision.state, standing)


def insisting(decision: Decided[StateT], min_support: int, before: StateT) -> Decided[StateT]:
    """The decision; where its answer lacks support an abstention, with the state as it was before.

    Its support stays, to say why.
    """
    support = decision.support
    why = None if support is None else lacks_support(support, min_support)
    if why is None:
        return decision
    verdict = replace(decision.verdict, answer="", abstention=why)
    return Decided(verdict, without_new_answer(before, decision.state), None, support)


def where(
    wanted: Sequence[bool],
    items: Sequence[ItemT],
    work: Callable[[Sequence[ItemT]], Sequence[OutT]],
) -> list[OutT | None]:
    """Call `work` once with the wanted items; None stands in the places of the others."""
    some = [item for item, want in zip(items, wanted, strict=True) if want]
    made = iter(work(some) if some else ())
    return [next(made) if want else None for want in wanted]
