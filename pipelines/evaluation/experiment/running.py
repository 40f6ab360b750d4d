"""Runs an experiment: every contender on the same evidence, condition by condition, resumable.

Rows are appended batch by batch. What is already there is not asked again: a history whose rows
are complete and without error is left alone, another is answered anew from its start, its model
calls found in the response cache.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice, product
from pathlib import Path
from typing import TypeVar

from sqlalchemy import Engine

from radarstream.defenses.protocol import EVIDENCE as ANSWERED
from radarstream.defenses.protocol import Signal, needs_at
from radarstream.pipelines.evaluation.experiment.cells import Cell
from radarstream.pipelines.evaluation.experiment.contenders import adapted
from radarstream.pipelines.evaluation.experiment.gathering import Gathered, gather
from radarstream.pipelines.evaluation.experiment.identity import check_evidence
from radarstream.pipelines.evaluation.experiment.perturbation import perturbed_relations
from radarstream.pipelines.evaluation.experiment.planning import History, Plan, prepared
from radarstream.pipelines.evaluation.experiment.progress import EVIDENCE_WORK, Progress
from radarstream.pipelines.evaluation.experiment.records import (
    Condition,
    Contender,
    EvidenceRow,
    Row,
)
from radarstream.pipelines.evaluation.experiment.row_files import (
    EVIDENCE,
    ROWS,
    Key,
    RowFile,
    read_evidence,
)
from radarstream.pipelines.evaluation.experiment.scorers import build_scorer, perturbation_of
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.snapshot import SearchSnapshot

Pending = list[tuple[Contender, frozenset[int]]]  # with the numbers of the histories left
Work = tuple[Condition, tuple[History, ...], Pending]
ItemT = TypeVar("ItemT")


@dataclass
class Runner:
    """Runs a plan into a directory; `rows` are those that are there."""

    plan: Plan
    settings: Settings
    engine: Engine
    models: Models
    out: Path
    rows: dict[Key, Row]
    progress: Progress = field(default_factory=Progress)

    def __post_init__(self) -> None:
        self.evidence: dict[tuple[str, str, int], EvidenceRow] = read_evidence(self.out)
        self.prepared = prepared(self.plan, self.models.embedder)
        self.progress.notes += self.prepared.notes
        self.work: list[Work] = [
            (condition, histories, pending)
            for condition, histories in self.prepared.histories.items()
            if (pending := self.pending(condition, histories))
        ]
        self.expect()

    def run(self) -> None:
        """Answer what is not yet answered. What is done is on disk, however this ends."""
        with ExitStack() as files:
            self.row_file: RowFile[Row] = files.enter_context(RowFile(self.out / ROWS))
            self.evidence_file: RowFile[EvidenceRow] = files.enter_context(
                RowFile(self.out / EVIDENCE)
            )
            for condition, histories, pending in self.work:
                self.run_condition(condition, histories, pending)

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
        self.progress.wanted = len(wanted)
        self.progress.answered = sum(key in self.rows for key in wanted)
        self.unseen: set[tuple[str, str]] = set()
        for _, histories, pending in self.work:
            if needed(pending, histories) & ANSWERED:
                for number in wanted_by(pending):
                    for snapshot in histories[number]:
                        self.unseen.update(passages_of(snapshot))
            for contender, left in pending:
                rows = sum(len(histories[number]) for number in left)
                self.progress.expected[contender.name] += rows
        self.progress.expected[EVIDENCE_WORK] = len(self.unseen)

    def wanted(self) -> Iterator[Key]:
        """The keys of all rows that the plan asks for."""
        for condition, histories in self.prepared.histories.items():
            for contender, history in product(self.plan.contenders, histories):
                query = history[0].query.id
                for step in range(len(history)):
                    yield contender.name, condition.name, query, step

    def run_condition(
        self, condition: Condition, histories: tuple[History, ...], pending: Pending
    ) -> None:
        """Gather the evidence once, then let every contender answer from it."""
        self.progress.doing = f"{condition.name}: evidence"
        needs = needed(pending, histories)
        gathered = self.gathered(condition, histories, wanted_by(pending), needs)
        for contender, left in pending:
            self.progress.doing = f"{condition.name}: {contender.name}"
            cell = self.cell(contender, condition)
            seen = [gathered[number] for number in sorted(left)]
            if contender.relations and cell.perturbation is None:
                seen = [self.related_anew(history, cell) for history in seen]
            batches = cell.rows(seen, batch=self.settings.batch.queries)
            while True:
                with self.progress.working(contender.name) as piece:
                    rows = next(batches, [])
                    piece.units = len(rows)
                    self.keep(rows)
                if not rows:
                    break

    def gathered(
        self,
        condition: Condition,
        histories: tuple[History, ...],
        wanted: frozenset[int],
        needs: frozenset[Signal],
    ) -> dict[int, list[Gathered]]:
        """The evidence of the wanted histories by their number, written down as it comes."""
        found: dict[int, list[Gathered]] = {number: [] for number in wanted}
        places = [
            (number, step, snapshot)
            for number in sorted(wanted)
            for step, snapshot in enumerate(histories[number])
        ]
        for batch in batched(places, self.settings.batch.snapshots):
            with self.progress.working(EVIDENCE_WORK) as piece:
                items = gather([(s, step) for _, step, s in batch], needs, self.models)
                for (number, _, _), item in zip(batch, items, strict=True):
                    found[number].append(self.noted(condition, item))
                asked = {p for _, _, snapshot in batch for p in passages_of(snapshot)}
                piece.units = len(asked & self.unseen) if needs & ANSWERED else 0
                self.unseen -= asked
        return found

    def noted(self, condition: Condition, item: Gathered) -> Gathered:
        """Write evidence down unless it is there already; what relating once took is kept. Raises
        ConfigurationError when what is there is not what is given now.
        """
        row = item.row(condition.name)
        key = (row.condition, row.query_id, row.step)
        known = self.evidence.get(key)
        if known is not None:
            check_evidence(known, row)
        if known is not None and known.entailment:
            item = replace(item, relation_seconds=known.relation_seconds)
        if known is None or (bool(known.answers), bool(known.entailment)) < (
            bool(row.answers),
            bool(row.entailment),
        ):
            self.evidence_file.append([row])
            self.evidence[key] = row
        return item

    def related_anew(self, history: Sequence[Gathered], cell: Cell) -> list[Gathered]:
        """The same evidence with the relations of the cell's own scorer."""
        items = [(item.snapshot, item.step) for item in history]
        return gather(items, cell.defense.needs, cell.models)

    def cell(self, contender: Contender, condition: Condition) -> Cell:
        """A contender ready to answer."""
        models = self.models
        scorer = build_scorer(contender.relations, self.settings, self.engine, models.embedder)
        perturbation = perturbation_of(contender.relations, self.plan.seed)
        if scorer is not None:
            models = replace(models, relations=scorer)
        if perturbation is not None:
            models = replace(models, relations=perturbed_relations(models.relations, perturbation))
        return Cell(
            contender=contender.name,
            condition=condition.name,
            defense=adapted(contender),
            models=models,
            perturbation=perturbation,
        )

    def keep(self, rows: Sequence[Row]) -> None:
        """Append the rows that say something new."""
        fresh, new = [], 0
        for row in rows:
            key = (row.contender, row.condition, row.query_id, row.step)
            known = self.rows.get(key)
            if known is None or (known.verdict, known.error) != (row.verdict, row.error):
                self.rows[key] = row
                fresh.append(row)
                new += known is None
        self.row_file.append(fresh)
        self.progress.answered += new


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


def batched(items: Iterable[ItemT], size: int) -> Iterator[list[ItemT]]:
    """Consecutive parts of at most `size` items."""
    rest = iter(items)
    while part := list(islice(rest, size)):
        yield part
