"""The study of defences: all contenders on the same evidence, condition by condition.

A history whose rows are complete and without error is left alone, another is answered anew from
its start, its model calls found in the response cache.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from radarstream.defenses.protocol import Signal, needs_at
from radarstream.lab.attacks.conditions import Attacked, attacked
from radarstream.lab.attacks.protocol import BENIGN, Condition, Surface
from radarstream.lab.defences.contenders import adapted, built, notes_on_production
from radarstream.lab.defences.label_reader import LabelReader
from radarstream.lab.defences.records import FILES, EvidenceRow, Row, counted
from radarstream.lab.defences.trials import Gathered, Trial, check_evidence, gather
from radarstream.lab.study.datasets import History, changes_of
from radarstream.lab.study.halves import in_half
from radarstream.lab.study.judging import JudgedAnswer
from radarstream.lab.study.kind import Keys, Kind, Request, Rows
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.specs import Spec, servable
from radarstream.pipelines.build import build_models, build_reranker_of, shared_engine
from radarstream.pipelines.signals.fulfilment import check_needs
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ConfigurationError

if TYPE_CHECKING:
    from radarstream.lab.study.harness import Study

Place = tuple[int, int]  # the number of a history, and of a step


class Defences(Kind):
    """Every contender answers every question under every condition.

    Contenders that the models cannot serve are left out, unless they are `insisted` on by name. A
    `reader` takes the place of the models. Raises ConfigurationError where nothing is asked or
    nobody is left.
    """

    name: ClassVar[str] = "defences"
    files: ClassVar[Mapping[type[Any], str]] = FILES
    gathers: ClassVar[str] = "evidence"

    def __init__(  # noqa: PLR0913 what a study varies
        self,
        request: Request,
        conditions: Sequence[Condition],
        contenders: Iterable[Spec],
        *,
        k: int,
        reference: str | None = None,
        insisted: str = "all",
        models: Models | None = None,
        reader: LabelReader | None = None,
    ) -> None:
        self.request, self.k, self.reader = request, k, reader
        settings, retrieval = request.settings, request.settings.retrieval
        if not self.histories:
            raise ConfigurationError(f"the data set has no question in the {request.half} half")
        self.reranker = build_reranker_of(settings)
        if reader is not None:
            models = reader.models
        self.models = models or build_models(settings, shared_engine(settings))
        if self.reranker is not None:
            check_needs(self.reranker, self.models)
        self.methods, left_out = servable(
            contenders, lambda one: check_needs(built(one), self.models), insisted
        )
        self.attacks = {condition.name: condition for condition in conditions}
        self.conditions = tuple(self.attacks)
        self.reference = reference_among(self.methods, reference)
        self.asked = tuple(history[0].query.id for history in self.histories)
        surface = [*self.attacks.values()][-1].surface
        searches = surface is Surface.CORPUS
        self.facts = {
            "place that attacks put their texts": str(surface),
            "questions whose documents are searched": len(self.searched) if searches else 0,
            "reranker": retrieval.model_dump_json() if retrieval.name else "",
        }
        bare = sum(not any(s.documents for s in history) for history in self.histories)
        own = "questions without any documents of their own"
        chosen = (
            f"the reranker {retrieval.name} chose at most {retrieval.keep} documents of each "
            "snapshot: all contenders saw these, attacked steps included, at their new ranks; what "
            "it asked is in no contender's cost"
        )
        self.notes = (
            *notes_on_production(self.methods),
            *([f"{own}: {bare} (a corpus is another --dataset)"] if bare else []),
            *left_out,
            *([chosen] if retrieval.name else []),
        )

    def describe(self) -> StudyRecord:
        """The record of this run alone, with how often the truth changes in the data."""
        return replace(super().describe(), data=changes_of(self.request.dataset))

    @cached_property
    def histories(self) -> tuple[History, ...]:
        """The histories of the questions that are asked, each snapshot cut to k documents."""
        asked = in_half(self.request.dataset.histories, self.request.half)
        return self.truncated(asked[: self.request.limit])

    @cached_property
    def searched(self) -> tuple[History, ...]:
        """The histories whose documents make the corpus that is searched, uncut: those asked, of
        either half as many as the limit allows, and the first `limit` that bring documents, for
        questions whose documents are another data set.
        """
        everything = self.request.dataset.histories
        bringing = [h for h in everything if any(snapshot.documents for snapshot in h)]
        wanted = {h[0].query.id for h in (*self.histories, *bringing[: self.request.limit])}
        return tuple(history for history in everything if history[0].query.id in wanted)

    def truncated(self, histories: Iterable[History]) -> tuple[History, ...]:
        """Histories of snapshots with their first k documents."""
        return tuple(
            tuple(replace(snapshot, documents=snapshot.documents[: self.k]) for snapshot in history)
            for history in histories
        )

    def begin(self, study: "Study") -> None:
        """Attack the questions that are asked, and note what cannot be attacked. Raises ModelError
        when a corpus cannot be searched.
        """
        super().begin(study)
        self.evidence = study.store.of(EvidenceRow)
        self.asked_under: dict[str, tuple[History, ...]] = {}
        self.gathered: dict[Place, Gathered] = {}
        left_out: dict[str, list[str]] = {}
        for name, condition in self.attacks.items():
            outcome = self.attacked(condition)
            self.asked_under[name] = outcome.histories
            for words in self.complaints(condition, outcome):
                left_out.setdefault(words, []).append(name)
        study.note(f"{', '.join(names)}: {words}" for words, names in left_out.items())
        if self.reader is not None:
            self.reader.learn(chain.from_iterable(self.asked_under.values()))

    def attacked(self, condition: Condition) -> Attacked:
        """The questions that are asked, under a condition. Attacks that borrow from other questions
        find all of them, however few are asked.
        """
        on_corpus = condition.surface is Surface.CORPUS
        exposed = self.searched if on_corpus else self.truncated(self.request.dataset.histories)
        embedder, seed = self.study.models.embedder, self.request.seed
        outcome = attacked(condition, exposed, k=self.k, seed=seed, embedder=embedder)
        return Attacked(
            tuple(h for h in outcome.histories if h[0].query.id in self.asked),
            {id_: why for id_, why in outcome.skipped.items() if id_ in self.asked},
        )

    def complaints(self, condition: Condition, outcome: Attacked) -> Iterator[str]:
        """What is to be said about an attack."""
        known = [s.labels for s in chain.from_iterable(outcome.histories)]
        spared = known and not any(labels and labels.attack for labels in known)
        if condition.attack != BENIGN and spared:
            yield "attacks no step of any question"
        for id_, why in list(outcome.skipped.items())[:1]:
            yield (
                f"without {len(outcome.skipped)} of the questions, because they cannot be "
                f"attacked; the first ({id_}): {why}"
            )

    def owed(self, method: Spec, condition: str) -> Keys:
        """A row for each step of a history."""
        return {
            number: [
                (method.name, condition, snapshot.query.id, step)
                for step, snapshot in enumerate(history)
            ]
            for number, history in enumerate(self.asked_under[condition])
        }

    def due(self, condition: str) -> dict[Spec, list[int]]:
        """The numbers of the histories that each contender has left."""
        found = {one: list(self.study.due(self.owed(one, condition))) for one in self.methods}
        return {one: numbers for one, numbers in found.items() if numbers}

    def missing(self, condition: str) -> list[Place]:
        """Every step of the histories that some contender has left."""
        numbers = sorted(set().union(*self.due(condition).values()))
        histories = self.asked_under[condition]
        return [(number, step) for number in numbers for step in range(len(histories[number]))]

    def stage(self, condition: str) -> None:
        """Find out which signals are read."""
        self.gathered.clear()
        sizes = {len(s.documents) for history in self.asked_under[condition] for s in history}
        if self.reranker is not None:
            most = min(self.request.settings.retrieval.keep, max(sizes, default=0))
            sizes = set(range(most + 1))
        read = (needs_at(adapted(one), size) for one in self.due(condition) for size in sizes)
        self.needs: frozenset[Signal] = frozenset().union(*read)

    def gather(self, condition: str, items: Sequence[Place]) -> Rows:
        """The evidence of some steps; what is written down already is checked against it."""
        settings, histories = self.request.settings, self.asked_under[condition]
        found = gather(
            [(histories[number][step], step) for number, step in items],
            self.needs,
            settings.reading,
            self.study.models,
            self.reranker,
            settings.retrieval.keep,
        )
        new = []
        for place, item in zip(items, found, strict=True):
            row = item.row(condition)
            known = self.evidence.get(row.key)
            if known is not None:
                check_evidence(known, row)
                if known.entailment:  # what relating took when it was first done
                    item = replace(item, relation_seconds=known.relation_seconds)  # noqa: PLW2901
            self.gathered[place] = item
            if known is None or signals_in(known) < signals_in(row):
                new.append(row)
        return new

    def answer(
        self, method: Spec, condition: str, items: Sequence[int]
    ) -> Iterator[tuple[int, Rows]]:
        """The answers to whole histories, a batch of steps at a time."""
        settings, histories = self.request.settings, self.asked_under[condition]
        trial = Trial(method.name, condition, adapted(method), self.study.models, settings.reading)
        seen = [[self.gathered[n, step] for step in range(len(histories[n]))] for n in items]
        for rows in trial.rows(seen, batch=settings.batch.queries):
            yield len(rows), [row for row in rows if self.is_new(row)]

    def is_new(self, row: Row) -> bool:
        """Whether a row says something that is not written down."""
        known = self.study.store.of(Row).get(row.key)
        return known is None or (known.verdict, known.error) != (row.verdict, row.error)

    def judged(self) -> tuple[Iterable[JudgedAnswer], Mapping[str, str], Iterable[str]]:
        """Every answer."""
        first = [history[0].query for history in self.histories]
        answers = [
            JudgedAnswer(row.key, row.labels, row.response)
            for row in counted(self.study.store, self.study.record, Row)
            if row.error is None
        ]
        questions = {query.id: query.text for query in first}
        return answers, questions, [query.id for query in first if query.long_form]


def signals_in(row: EvidenceRow) -> tuple[bool, bool]:
    """Whether evidence has answers, and relations."""
    return bool(row.answers), bool(row.entailment)


def reference_among(contenders: Sequence[Spec], wanted: str | None) -> str:
    """The contender that the others are compared with: RADAR unless another is wanted. Raises
    ConfigurationError for one that does not take part.
    """
    names = [contender.name for contender in contenders]
    if wanted is None:
        return "radar" if "radar" in names else names[0]
    if wanted not in names:
        raise ConfigurationError(
            f"no contender {wanted!r} to compare with; there are {', '.join(names)}"
        )
    return wanted
