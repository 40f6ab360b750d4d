"""The study of defences: all contenders on the same evidence, condition by condition.

A history whose rows are complete and without error is left alone, another is answered anew from
its start, its model calls found in the response cache.
"""

from collections import abc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain

from sqlalchemy import Engine

from radarstream.defenses.protocol import EVIDENCE as ANSWERED
from radarstream.defenses.protocol import Signal, needs_at
from radarstream.lab.attacks.conditions import Skipped, attacked
from radarstream.lab.attacks.protocol import BENIGN, Condition, Surface
from radarstream.lab.defences.contenders import (
    adapted,
    modules_of,
    notes_on_production,
    servable,
)
from radarstream.lab.defences.label_reader import LabelReader
from radarstream.lab.defences.records import (
    FILES,
    Contender,
    DefencesRecord,
    DefencesRequest,
    EvidenceRow,
    Key,
    Row,
    counted,
)
from radarstream.lab.defences.trials import Gathered, Trial, check_evidence, gather
from radarstream.lab.study.datasets import History, describe
from radarstream.lab.study.harness import Study
from radarstream.lab.study.judging import JudgedAnswer
from radarstream.lab.study.plugin import Batch, batched
from radarstream.lab.study.record import digests
from radarstream.lab.study.rows import EVIDENCE_WORK
from radarstream.pipelines.build import build_models, build_reranker_of, shared_engine
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.pipelines.signals.ports import Generator, Models
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import SearchSnapshot

Gathering = abc.Generator[Batch, None, dict[int, list[Gathered]]]
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
                for rows in trial.rows(seen, batch=self.settings.batch.queries):
                    yield Batch(contender.name, len(rows), self.fresh(rows))

    def gathered(self, condition: Condition, pending: Pending) -> Gathering:
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
        defense, reading = adapted(contender), self.settings.reading
        return Trial(contender.name, condition.name, defense, self.study.models, reading)

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


DefenceStudy = Study[DefencesRecord]


@dataclass
class Defences:
    """The plug-in: every contender answers every question under every condition."""

    request: DefencesRequest
    settings: Settings
    engine: Engine
    models: Models

    files = FILES

    def describe(self) -> DefencesRecord:
        """The record of this run alone."""
        request = self.request
        searches = request.surface == Surface.CORPUS.value
        return DefencesRecord(
            **request.common(self.models, self.settings),
            questions=len(request.histories),
            snapshots=sum(map(len, request.histories)),
            conditions=request.conditions,
            contenders=request.contenders,
            statistics=describe(request.dataset),
            surface=request.surface,
            searched=len(request.searched) if searches else 0,
            reranker=choice_of(self.settings),
            notes=(
                *notes_on_production(request.contenders),
                *request.notes,
                *notes_on_reranking(self.settings),
            ),
            asked=tuple(history[0].query.id for history in request.histories),
        )

    def code(self, record: DefencesRecord) -> Mapping[str, str | None]:
        """One digest per contender; None for one that can no longer be built."""
        reranker = build_reranker_of(self.settings)
        return digests({one.name: partial(modules_of, one, reranker) for one in record.contenders})

    def plan(self, study: DefenceStudy) -> Iterator[Batch]:
        """Attack the questions and count what is left to answer; the iterator answers it."""
        reference = reference_among(study.record.contenders, self.request.reference)
        runner = Runner(self.request, self.settings, self.engine, study)
        if isinstance(self.models.generator, LabelReader):
            self.models.generator.learn(chain.from_iterable(runner.histories.values()))
        owed = {c.name: sum(map(len, found)) for c, found in runner.histories.items()}
        study.update(reference=reference, owed=study.record.owed | owed)
        return runner.run()

    def judged(self, study: DefenceStudy, judge: Generator) -> None:
        """What the judge says of every answer, written down."""
        histories = self.request.histories
        questions = {history[0].query.id: history[0].query.text for history in histories}
        long_form = {history[0].query.id for history in histories if history[0].query.long_form}
        answers = [
            JudgedAnswer(
                row.contender,
                row.condition,
                row.query_id,
                row.labels,
                row.response,
                row.error,
                row.step,
            )
            for row in counted(study.store, study.record, Row)
        ]
        study.judge(answers, questions, judge, long_form)


def choice_of(settings: Settings) -> str:
    """Who chooses the documents that contenders see, with the options; empty for nobody."""
    return settings.retrieval.model_dump_json() if settings.retrieval.name else ""


def notes_on_reranking(settings: Settings) -> tuple[str, ...]:
    """That contenders do not see all documents, where a reranker chooses."""
    retrieval = settings.retrieval
    if not retrieval.name:
        return ()
    return (
        f"the reranker {retrieval.name} chose at most {retrieval.keep} documents of each snapshot: "
        "all contenders saw these, attacked steps included, at their new ranks; what it asked is "
        "in no contender's cost",
    )


def reference_among(contenders: Sequence[Contender], wanted: str | None) -> str:
    """The contender that the others are compared with: RADAR unless another is wanted.

    Raises ConfigurationError for one that does not take part.
    """
    names = [contender.name for contender in contenders]
    if wanted is None:
        return "radar" if "radar" in names else names[0]
    if wanted not in names:
        raise ConfigurationError(
            f"no contender {wanted!r} to compare with; there are {', '.join(names)}"
        )
    return wanted


def plugin_of(
    request: DefencesRequest,
    settings: Settings,
    *,
    insisted: str = "all",
    reader: LabelReader | None = None,
) -> Defences:
    """The plug-in of a request with its models, or with a `reader` in their place.

    Contenders that the models cannot serve are left out, unless they are `insisted` on by name.
    Raises ConfigurationError where none is left.
    """
    if not request.histories:
        raise ConfigurationError(f"the data set has no question in the {request.half} half")
    engine = shared_engine(settings)
    models = build_models(settings, engine) if reader is None else reader.models
    if (reranker := build_reranker_of(settings)) is not None:
        check_needs(reranker, models)
    served, left_out = servable(request.contenders, models, insisted=insisted)
    if not served:
        raise ConfigurationError("; ".join(["no defence to evaluate", *left_out]))
    found = (request.dataset.complaint, _without_documents(request.histories), *left_out)
    notes = (*request.notes, *filter(None, found))
    return Defences(
        replace(request, contenders=tuple(served), notes=notes), settings, engine, models
    )


def _without_documents(asked: Iterable[History]) -> str | None:
    """How many of the asked questions bring no documents, if any."""
    bare = sum(not any(s.documents for s in history) for history in asked)
    if not bare:
        return None
    return f"questions without any documents of their own: {bare} (a corpus is another --dataset)"
