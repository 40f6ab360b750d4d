"""A study from its data set to its rows: what `radarstream evaluate-attribution` does.

Events and rows are appended batch by batch. What is there is not asked again, unless a model had
failed; what models answered is kept by their caches.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter

from radarstream.defenses.attribution.protocol import Attributor
from radarstream.pipelines.evaluation.attacks.corpus import RememberingEmbedder
from radarstream.pipelines.evaluation.attribution.calibration import (
    Calibrated,
    benign_sample,
    threshold_of,
)
from radarstream.pipelines.evaluation.attribution.events import left_out, observe
from radarstream.pipelines.evaluation.attribution.judged import (
    ScopeRule,
    findings,
    rag_origin_scope,
    scopes,
    verified,
    with_removal,
)
from radarstream.pipelines.evaluation.attribution.records import (
    EVENTS,
    RECORD,
    ROWS,
    Spec,
    StudyRecord,
    code_of,
    continued,
    events_code,
    read_events,
    read_record,
    read_rows,
)
from radarstream.pipelines.evaluation.attribution.rows import (
    AttributionRow,
    EventKey,
    EventRow,
    Outcome,
)
from radarstream.pipelines.evaluation.attribution.scenarios import Scenario
from radarstream.pipelines.evaluation.attribution.staging import (
    Questions,
    Staged,
    Unattackable,
    staged,
)
from radarstream.pipelines.evaluation.datasets import Dataset
from radarstream.pipelines.evaluation.experiment.running import batched
from radarstream.pipelines.evaluation.provenance import code_revision
from radarstream.pipelines.evaluation.study.progress import EVIDENCE_WORK, Progress
from radarstream.pipelines.evaluation.study.prompts import (
    noting_use,
    package_versions,
    prompt_digests,
)
from radarstream.pipelines.evaluation.study.row_files import RowFile, write_json
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Task

AT_ONCE = 4  # events attributed in lockstep, and lost when a run is stopped
NARROWS = "rag_origin"  # the method that chooses its scope by itself


@dataclass(frozen=True)
class Request:
    """What the user asked for; `limit` is how many questions, None for all of them."""

    dataset: Dataset
    scenarios: tuple[Scenario, ...]
    attributors: tuple[Spec, ...]
    k: int = 5
    limit: int | None = None
    seed: int = 0
    command: str = ""
    notes: tuple[str, ...] = ()


@dataclass
class Study:
    """One run into a directory, which may hold earlier runs of the same study.

    `scope_rule` says how many of an event's texts are judged. Raises ConfigurationError when the
    directory holds another study.
    """

    request: Request
    settings: Settings
    models: Models
    out: Path
    scope_rule: ScopeRule = rag_origin_scope

    def __post_init__(self) -> None:
        request = self.request
        self.questions = Questions.of(request.dataset, request.limit)
        self.progress = Progress()
        now, earlier = self.described(), read_record(self.out)
        self.record = continued(earlier, now) if earlier else now
        self.events, self.rows = read_events(self.out), read_rows(self.out)
        self.scopes: dict[EventKey, int] = {}
        embedder = RememberingEmbedder(self.models.embedder)
        self.asking = replace(noting_use(self.models, self.note_use), embedder=embedder)
        scenarios = request.scenarios
        self.progress.expected[EVIDENCE_WORK] = sum(len(self.unasked(s)) for s in scenarios)
        self.owed = Counter(
            {s.name: sum(len(self.due(one, s)) for one in scenarios) for s in request.attributors}
        )
        self.expect()

    def described(self) -> StudyRecord:
        """The record of this run alone."""
        request, models = self.request, self.models
        tokens = {"tokens": models.tokens.model_id} if models.tokens else {}
        code = {"events": events_code()} | {one.name: code_of(one) for one in request.attributors}
        return StudyRecord(
            dataset=request.dataset.name,
            dataset_digest=request.dataset.digest,
            texts=len(self.questions.corpus.entries),
            k=request.k,
            seed=request.seed,
            scenarios=tuple(scenario.name for scenario in request.scenarios),
            attributors=request.attributors,
            models=models.ids | tokens,
            command=request.command,
            revision=code_revision(),
            versions=package_versions(),
            settings=self.settings.model_dump(mode="json"),
            code=code,
            asked=tuple(snapshot.query.id for snapshot in self.questions.asked),
            notes=tuple(filter(None, [request.dataset.complaint, *request.notes])),
        )

    def note_use(self, task: Task) -> None:
        """Write down the wording of a task before the first row that depends on it."""
        prompts = self.record.prompts | {task.value: prompt_digests()[task.value]}
        if prompts != self.record.prompts:
            self.record = replace(self.record, prompts=prompts)
            self.write_record()

    def write_record(self) -> None:
        """Store what the study is; whole or not at all."""
        write_json(self.out / RECORD, self.record.as_json())

    def expect(self) -> None:
        """Count the rows of each attributor: those owed, and as large a share of the questions
        left as became events so far, all of them while none was asked.
        """
        expected = self.progress.expected
        left = expected[EVIDENCE_WORK] - self.progress.finished[EVIDENCE_WORK]
        outcomes = [event.outcome for event in self.events.values()]
        share = outcomes.count(Outcome.EVENT) / len(outcomes) if outcomes else 1.0
        for name, owed in self.owed.items():
            expected[name] = owed + round(share * left)

    def run(self) -> None:
        """Do what is not yet done. What is done is on disk, however this ends."""
        started = perf_counter()
        self.write_record()
        try:
            with ExitStack() as files:
                self.event_file = files.enter_context(RowFile(self.out / EVENTS))
                self.row_file = files.enter_context(RowFile(self.out / ROWS))
                if self.progress.total:
                    self.embed_corpus()
                for scenario in self.request.scenarios:
                    self.run_scenario(scenario)
        finally:
            seconds = self.record.seconds + perf_counter() - started
            self.record = replace(self.record, seconds=seconds)
            self.write_record()

    def embed_corpus(self) -> None:
        """Have all questions find the corpus embedded, so that the first is not timed with it."""
        self.progress.doing = "embedding the corpus"
        passages = [entry.document.passage for entry in self.questions.corpus.entries]
        if passages:
            self.asking.embedder.embed(passages)

    def run_scenario(self, scenario: Scenario) -> None:
        """Ask every question, then let every attributor loose on the events."""
        unasked = self.unasked(scenario)
        if not unasked and not any(self.due(scenario, s) for s in self.request.attributors):
            return
        items = {item.query.id: item for item in staged(scenario, self.questions)}
        self.progress.doing = f"{scenario.name}: asking"
        for batch in batched(unasked, self.settings.batch.snapshots):
            with self.progress.working(EVIDENCE_WORK) as piece:
                self.ask([items[query_id] for query_id in batch], scenario)
                piece.units = len(batch)
            self.expect()
        ready = {key: item for key, item in items.items() if isinstance(item, Staged)}
        for spec in self.request.attributors:
            self.progress.doing = f"{scenario.name}: {spec.name}"
            self.attribute(scenario, spec, ready)

    def ask(self, items: Sequence[Staged | Unattackable], scenario: Scenario) -> None:
        """Write down what becomes of some questions; those without an event need no rows."""
        ready = [item for item in items if isinstance(item, Staged)]
        rows = [
            left_out(scenario.name, item, self.request.k)
            for item in items
            if isinstance(item, Unattackable)
        ]
        rows += verified(observe(ready, self.asking, k=self.request.k), self.asking)
        self.events |= {row.key: row for row in rows}
        self.event_file.append(rows)
        for spec in self.request.attributors:
            self.owed[spec.name] += sum(
                row.outcome is Outcome.EVENT and not self.complete((spec.name, *row.key))
                for row in rows
            )

    def attribute(self, scenario: Scenario, spec: Spec, items: Mapping[str, Staged]) -> None:
        """Write down what an attributor makes of the events that it has not seen."""
        due = self.due(scenario, spec)
        attributor = self.calibrated(spec) if due else spec.build()
        for batch in batched(due, AT_ONCE):
            with self.progress.working(spec.name) as piece:
                events = [self.events[scenario.name, query_id] for query_id in batch]
                sized, rows = self.sized(spec, events)
                narrows = spec.method == NARROWS
                rows += findings(spec.name, attributor, sized, self.asking, narrows=narrows)
                told = {event.query_id: event.reported or "" for event in events}
                rows = with_removal(rows, items, self.asking, k=self.request.k, reported=told)
                self.rows |= {row.key: row for row in rows}
                self.row_file.append(rows)
                piece.units = len(batch)

    def calibrated(self, spec: Spec) -> Attributor:
        """The attributor, with a threshold from benign texts if it takes one and has none.

        Raises ModelError when the texts cannot be measured.
        """
        attributor = spec.build()
        if not isinstance(attributor, Calibrated) or attributor.threshold is not None:
            return attributor
        known = self.record.thresholds.get(spec.name)
        if known is None:
            benign = benign_sample(self.questions.corpus, self.request.seed)
            known = threshold_of(attributor, benign, self.asking)
            thresholds = self.record.thresholds | {spec.name: known}
            self.record = replace(self.record, thresholds=thresholds)
            self.write_record()
        return replace(spec, options=(*spec.options, ("threshold", known))).build()

    def sized(
        self, spec: Spec, events: Sequence[EventRow]
    ) -> tuple[list[tuple[EventRow, int]], list[AttributionRow]]:
        """Events with their scope, and rows of those whose scope failed."""
        unknown = [event for event in events if event.key not in self.scopes]
        outcomes = scopes(self.scope_rule, unknown, self.asking)
        failed: dict[EventKey, ModelError] = {}
        for event, outcome in zip(unknown, outcomes, strict=True):
            if isinstance(outcome, ModelError):
                failed[event.key] = outcome
            else:
                self.scopes[event.key] = outcome
        sized = [(event, self.scopes[event.key]) for event in events if event.key in self.scopes]
        rows = [
            AttributionRow(spec.name, *key, error=f"scope: {error}"[:300])
            for key, error in failed.items()
        ]
        return sized, rows

    def unasked(self, scenario: Scenario) -> list[str]:
        """Ids of the questions that are not asked yet, or not answered."""
        return [
            snapshot.query.id
            for snapshot in self.questions.asked
            if not self.settled(self.events.get((scenario.name, snapshot.query.id)))
        ]

    def settled(self, event: EventRow | None) -> bool:
        """Whether there is nothing to ask again."""
        return event is not None and event.outcome is not Outcome.FAILED

    def due(self, scenario: Scenario, spec: Spec) -> list[str]:
        """Ids of questions that are events and lack a sound row."""
        found = (self.events.get((scenario.name, s.query.id)) for s in self.questions.asked)
        return [
            event.query_id
            for event in found
            if event is not None
            and event.outcome is Outcome.EVENT
            and not self.complete((spec.name, *event.key))
        ]

    def complete(self, key: tuple[str, str, str]) -> bool:
        """Whether a row is there, without an error."""
        row = self.rows.get(key)
        return row is not None and row.error is None

    def found(self) -> tuple[list[EventRow], list[AttributionRow]]:
        """All events and rows."""
        return list(self.events.values()), list(self.rows.values())
