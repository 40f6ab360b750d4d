"""Runs defences: every contender on the same evidence, condition by condition.

A history whose rows are complete and without error is left alone, another is answered anew from
its start, its model calls found in the response cache.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Engine

from radarstream.defenses.protocol import EVIDENCE as ANSWERED
from radarstream.defenses.protocol import Signal, needs_at
from radarstream.lab.attacks.conditions import Skipped, attacked
from radarstream.lab.attacks.protocol import BENIGN, Condition
from radarstream.lab.defences.contenders import adapted
from radarstream.lab.defences.records import (
    Contender,
    DefencesRecord,
    DefencesRequest,
    EvidenceRow,
    Key,
    Row,
)
from radarstream.lab.defences.scorers import build_scorer
from radarstream.lab.defences.trials import Gathered, Trial, check_evidence, gather
from radarstream.lab.study.datasets import History
from radarstream.lab.study.harness import Study
from radarstream.lab.study.plugin import Batch, batched
from radarstream.lab.study.rows import EVIDENCE_WORK
from radarstream.pipelines.build import build_reranker_of
from radarstream.pipelines.settings import ReadingSettings, Settings
from radarstream.schemas.snapshot import SearchSnapshot

AS_GIVEN = ReadingSettings(windows=0)  # what was read is not read again
Pending = dict[Contender, list[int]]  # the numbers of the histories that each has left


@dataclass
class Runner:
    """The work of a request that is left in a study's directory."""

    request: DefencesRequest
    settings: Settings
    engine: Engine
    study: Study[DefencesRecord]

    def __post_init__(self) -> None:
        self.rows = self.study.store.of(Row)
        self.evidence = self.study.store.of(EvidenceRow)
        self.histories: dict[Condition, tuple[History, ...]] = {}  # those asked, attacked
        self.work: dict[Condition, Pending] = {}
        self.unseen: set[tuple[str, str]] = set()  # distinct prompts of evidence to be gathered
        self.reranker = build_reranker_of(self.settings)
        self.most = None if self.reranker is None else self.settings.retrieval.keep
        self.attack()
        for condition, histories in self.histories.items():
            if pending := self.expect(condition, histories):
                self.work[condition] = pending
        self.study.progress.expected[EVIDENCE_WORK] = len(self.unseen)

    def attack(self) -> None:
        """Attack the questions that are asked, and note what cannot be attacked.

        Raises ModelError when a corpus cannot be searched.
        """
        request, embedder = self.request, self.study.models.embedder
        asked = {history[0].query.id for history in request.histories}
        notes = []
        left_out: dict[tuple[Skipped, ...], list[str]] = {}
        for condition in request.conditions:
            surface = condition.surface
            exposed = request.exposed(surface)
            outcome = attacked(
                condition, exposed, k=request.k, seed=request.seed, embedder=embedder
            )
            histories = tuple(h for h in outcome.histories if h[0].query.id in asked)
            self.histories[condition] = histories
            poisoned = any(s.labels and s.labels.attack for history in histories for s in history)
            if histories and condition.attack != BENIGN and not poisoned:
                notes.append(f"{condition.name} attacks no step of any question")
            if skipped := tuple(one for one in outcome.skipped if one.query_id in asked):
                left_out.setdefault(skipped, []).append(condition.name)
        notes += [
            f"{', '.join(names)}: without {len(skipped)} of the questions, because they cannot be "
            f"attacked; the first ({skipped[0].query_id}): {skipped[0].reason}"
            for skipped, names in left_out.items()
        ]
        self.study.note(notes)

    def expect(self, condition: Condition, histories: Sequence[History]) -> Pending:
        """Count the work under a condition, and say what of it is left."""
        progress = self.study.progress
        pending: Pending = {}
        for contender in self.request.contenders:
            for number, history in enumerate(histories):
                keys = keys_of(contender, condition, history)
                progress.wanted += len(keys)
                progress.answered += sum(key in self.rows for key in keys)
                if any(key not in self.rows or self.rows[key].error is not None for key in keys):
                    pending.setdefault(contender, []).append(number)
                    progress.expected[contender.name] += len(keys)
        if needed(pending, histories, self.most) & ANSWERED:
            for number in wanted_by(pending):
                self.unseen.update(*map(passages_of, histories[number]))
        return pending

    def run(self) -> Iterator[Batch]:
        """Answer what is not yet answered: gather the evidence of a condition once, then let every
        contender answer from it.
        """
        progress = self.study.progress
        for condition, pending in self.work.items():
            progress.doing = f"{condition.name}: evidence"
            gathered = yield from self.gathered(condition, pending)
            for contender, left in pending.items():
                progress.doing = f"{condition.name}: {contender.name}"
                trial = self.trial(contender, condition)
                seen = [gathered[number] for number in left]
                if contender.relations:
                    seen = [related_anew(history, trial) for history in seen]
                for rows in trial.rows(seen, batch=self.settings.batch.queries):
                    yield Batch(contender.name, len(rows), self.fresh(rows))

    def gathered(
        self, condition: Condition, pending: Pending
    ) -> Generator[Batch, None, dict[int, list[Gathered]]]:
        """The evidence of the histories that are left by their number, in batches as it comes."""
        histories = self.histories[condition]
        needs = needed(pending, histories, self.most)
        keep = self.settings.retrieval.keep
        found: dict[int, list[Gathered]] = {number: [] for number in wanted_by(pending)}
        places = [
            (number, step, snapshot)
            for number in found
            for step, snapshot in enumerate(histories[number])
        ]
        for batch in batched(places, self.settings.batch.snapshots):
            asked_of = [(snapshot, step) for _, step, snapshot in batch]
            items = gather(
                asked_of, needs, self.settings.reading, self.study.models, self.reranker, keep
            )
            new = []
            for (number, _, _), item in zip(batch, items, strict=True):
                row = item.row(condition.name)
                known = self.evidence.get(row.key)
                if known is not None:
                    check_evidence(known, row)
                if known is not None and known.entailment:
                    seconds = known.relation_seconds  # what relating took when it was first done
                    found[number].append(replace(item, relation_seconds=seconds))
                else:
                    found[number].append(item)
                if known is None or signals_in(known) < signals_in(row):
                    new.append(row)
            asked = set().union(*(passages_of(snapshot) for _, _, snapshot in batch))
            units = len(asked & self.unseen) if needs & ANSWERED else 0
            self.unseen -= asked
            yield Batch(EVIDENCE_WORK, units, new)
        return found

    def trial(self, contender: Contender, condition: Condition) -> Trial:
        """A contender ready to answer."""
        models = self.study.models
        if contender.relations:
            scorer = build_scorer(contender.relations, self.settings, self.engine, models)
            models = replace(models, relations=scorer)
        return Trial(
            contender.name,
            condition.name,
            adapted(contender),
            models,
            self.settings.reading,
        )

    def fresh(self, rows: Sequence[Row]) -> list[Row]:
        """The rows that say something new."""
        return [
            row
            for row in rows
            if (known := self.rows.get(row.key)) is None
            or (known.verdict, known.error) != (row.verdict, row.error)
        ]


def keys_of(contender: Contender, condition: Condition, history: History) -> list[Key]:
    """The keys of the rows that a contender owes."""
    return [
        (contender.name, condition.name, snapshot.query.id, step)
        for step, snapshot in enumerate(history)
    ]


def related_anew(history: Sequence[Gathered], trial: Trial) -> list[Gathered]:
    """The same evidence with the relations of the trial's own scorer."""
    items = [(item.snapshot, item.step) for item in history]
    return [
        replace(item, reranking=before.reranking, poisoned_sites=before.poisoned_sites)
        for before, item in zip(
            history, gather(items, trial.defense.needs, AS_GIVEN, trial.models), strict=True
        )
    ]


def signals_in(row: EvidenceRow) -> tuple[bool, bool]:
    """Whether evidence has answers, and relations."""
    return bool(row.answers), bool(row.entailment)


def needed(
    pending: Pending, histories: Sequence[History], most: int | None = None
) -> frozenset[Signal]:
    """The signals that some pending contender reads in some snapshot, of which a reranker, if there
    is one, leaves at most `most` documents.
    """
    sizes = {len(snapshot.documents) for history in histories for snapshot in history}
    if most is not None:
        sizes = set(range(min(most, max(sizes, default=0)) + 1))
    read = (needs_at(adapted(contender), size) for contender in pending for size in sizes)
    return frozenset().union(*read)


def wanted_by(pending: Pending) -> list[int]:
    """The numbers of the histories that some contender has left, in order."""
    return sorted(set().union(*pending.values()))


def passages_of(snapshot: SearchSnapshot) -> set[tuple[str, str]]:
    """What decides the prompts of a snapshot's atomic answers."""
    return {(snapshot.query.text, document.passage) for document in snapshot.documents}
