"""Runs defences: every contender on the same evidence, condition by condition.

A history whose rows are complete and without error is left alone, another is answered anew from
its start, its model calls found in the response cache.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeVar

from sqlalchemy import Engine

from radarstream.defenses.protocol import EVIDENCE as ANSWERED
from radarstream.defenses.protocol import Signal, needs_at
from radarstream.pipelines.evaluation.attacks.protocol import Condition
from radarstream.pipelines.evaluation.defences.contenders import adapted
from radarstream.pipelines.evaluation.defences.evidence_check import check_evidence
from radarstream.pipelines.evaluation.defences.files import Key
from radarstream.pipelines.evaluation.defences.gathering import Gathered, gather
from radarstream.pipelines.evaluation.defences.perturbation import perturbed_relations
from radarstream.pipelines.evaluation.defences.planning import History, Plan, prepared
from radarstream.pipelines.evaluation.defences.records import (
    Contender,
    DefencesRecord,
    EvidenceRow,
    Row,
)
from radarstream.pipelines.evaluation.defences.scorers import build_scorer, perturbation_of
from radarstream.pipelines.evaluation.defences.trials import Trial
from radarstream.pipelines.evaluation.study.harness import Study
from radarstream.pipelines.evaluation.study.plugin import Batch, batched
from radarstream.pipelines.evaluation.study.progress import EVIDENCE_WORK
from radarstream.pipelines.settings import Settings
from radarstream.schemas.snapshot import SearchSnapshot

Pending = list[tuple[Contender, frozenset[int]]]  # with the numbers of the histories left
Work = tuple[Condition, tuple[History, ...], Pending]
ItemT = TypeVar("ItemT")


@dataclass
class Runner:
    """The work of a plan that is left in a study's directory."""

    plan: Plan
    settings: Settings
    engine: Engine
    study: Study[DefencesRecord]

    def __post_init__(self) -> None:
        self.rows = self.study.store.of(Row)
        self.evidence = self.study.store.of(EvidenceRow)
        self.prepared = prepared(self.plan, self.study.models.embedder)
        self.study.note(self.prepared.notes)
        self.work: list[Work] = [
            (condition, histories, pending)
            for condition, histories in self.prepared.histories.items()
            if (pending := self.pending(condition, histories))
        ]
        self.expect()

    def run(self) -> Iterator[Batch]:
        """Answer what is not yet answered."""
        for condition, histories, pending in self.work:
            yield from self.run_condition(condition, histories, pending)

    def pending(self, condition: Condition, histories: Sequence[History]) -> Pending:
        """Contenders with something left to answer, with the numbers of those histories."""
        found = []
        for contender in self.plan.contenders:
            left = frozenset(
                number
                for number, history in enumerate(histories)
                if not self.complete(contender, condition, history)
            )
            if left:
                found.append((contender, left))
        return found

    def complete(self, contender: Contender, condition: Condition, history: History) -> bool:
        """Whether every step has its row, without an error."""
        rows = [
            self.rows.get((contender.name, condition.name, snapshot.query.id, step))
            for step, snapshot in enumerate(history)
        ]
        return all(row is not None and row.error is None for row in rows)

    def expect(self) -> None:
        """Count the work: distinct prompts of shared evidence, and rows."""
        wanted = list(self.wanted())
        progress = self.study.progress
        progress.wanted = len(wanted)
        progress.answered = sum(key in self.rows for key in wanted)
        self.unseen: set[tuple[str, str]] = set()
        for _, histories, pending in self.work:
            if needed(pending, histories) & ANSWERED:
                for number in wanted_by(pending):
                    for snapshot in histories[number]:
                        self.unseen.update(passages_of(snapshot))
            for contender, left in pending:
                rows = sum(len(histories[number]) for number in left)
                progress.expected[contender.name] += rows
        progress.expected[EVIDENCE_WORK] = len(self.unseen)

    def wanted(self) -> Iterator[Key]:
        """The keys of all rows that the plan asks for."""
        for condition, histories in self.prepared.histories.items():
            for contender, history in product(self.plan.contenders, histories):
                query = history[0].query.id
                for step in range(len(history)):
                    yield contender.name, condition.name, query, step

    def run_condition(
        self, condition: Condition, histories: tuple[History, ...], pending: Pending
    ) -> Iterator[Batch]:
        """Gather the evidence once, then let every contender answer from it."""
        progress = self.study.progress
        progress.doing = f"{condition.name}: evidence"
        needs = needed(pending, histories)
        gathered = yield from self.gathered(condition, histories, wanted_by(pending), needs)
        for contender, left in pending:
            progress.doing = f"{condition.name}: {contender.name}"
            cell = self.cell(contender, condition)
            seen = [gathered[number] for number in sorted(left)]
            if contender.relations and cell.perturbation is None:
                seen = [self.related_anew(history, cell) for history in seen]
            for rows in cell.rows(seen, batch=self.settings.batch.queries):
                yield Batch(contender.name, len(rows), self.fresh(rows))

    def gathered(
        self,
        condition: Condition,
        histories: tuple[History, ...],
        wanted: frozenset[int],
        needs: frozenset[Signal],
    ) -> Generator[Batch, None, dict[int, list[Gathered]]]:
        """The evidence of the wanted histories by their number, in batches as it comes."""
        found: dict[int, list[Gathered]] = {number: [] for number in wanted}
        places = [
            (number, step, snapshot)
            for number in sorted(wanted)
            for step, snapshot in enumerate(histories[number])
        ]
        for batch in batched(places, self.settings.batch.snapshots):
            items = gather([(s, step) for _, step, s in batch], needs, self.study.models)
            new = []
            for (number, _, _), item in zip(batch, items, strict=True):
                row = item.row(condition.name)
                known = self.known(row)
                found[number].append(as_first_related(item, known))
                if says_more(row, known):
                    new.append(row)
            asked = {p for _, _, snapshot in batch for p in passages_of(snapshot)}
            units = len(asked & self.unseen) if needs & ANSWERED else 0
            self.unseen -= asked
            yield Batch(EVIDENCE_WORK, units, new)
        return found

    def known(self, row: EvidenceRow) -> EvidenceRow | None:
        """The stored evidence of the same step. Raises ConfigurationError when contenders were
        given something else then.
        """
        known = self.evidence.get(row.key)
        if known is not None:
            check_evidence(known, row)
        return known

    def related_anew(self, history: Sequence[Gathered], cell: Trial) -> list[Gathered]:
        """The same evidence with the relations of the cell's own scorer."""
        items = [(item.snapshot, item.step) for item in history]
        return gather(items, cell.defense.needs, cell.models)

    def cell(self, contender: Contender, condition: Condition) -> Trial:
        """A contender ready to answer."""
        models = self.study.models
        scorer = build_scorer(contender.relations, self.settings, self.engine, models.embedder)
        perturbation = perturbation_of(contender.relations, self.plan.seed)
        if scorer is not None:
            models = replace(models, relations=scorer)
        if perturbation is not None:
            models = replace(models, relations=perturbed_relations(models.relations, perturbation))
        return Trial(
            contender=contender.name,
            condition=condition.name,
            defense=adapted(contender),
            models=models,
            perturbation=perturbation,
        )

    def fresh(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that say something new."""
        return [
            row
            for row in rows
            if (known := self.rows.get(row.key)) is None
            or (known.verdict, known.error) != (row.verdict, row.error)
        ]


def as_first_related(item: Gathered, known: EvidenceRow | None) -> Gathered:
    """Evidence with the seconds that relating it took when it was first done."""
    if known is None or not known.entailment:
        return item
    return replace(item, relation_seconds=known.relation_seconds)


def says_more(row: EvidenceRow, known: EvidenceRow | None) -> bool:
    """Whether evidence has answers or relations that the stored row lacks."""
    if known is None:
        return True
    held = (bool(known.answers), bool(known.entailment))
    return held < (bool(row.answers), bool(row.entailment))


def needed(pending: Pending, histories: Sequence[History]) -> frozenset[Signal]:
    """The signals that some pending contender reads in some snapshot."""
    sizes = {len(snapshot.documents) for history in histories for snapshot in history}
    read = (needs_at(adapted(contender), size) for contender, _ in pending for size in sizes)
    return frozenset().union(*read)


def wanted_by(pending: Pending) -> frozenset[int]:
    """The numbers of the histories that some contender has left."""
    return frozenset().union(*(left for _, left in pending))


def passages_of(snapshot: SearchSnapshot) -> set[tuple[str, str]]:
    """What decides the prompts of a snapshot's atomic answers."""
    return {(snapshot.query.text, document.passage) for document in snapshot.documents}
