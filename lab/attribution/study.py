"""The study of attributors: each question is asked, then each attributor gets the wrong answers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from radarstream.defenses.protocol import Attributor
from radarstream.defenses.registry import ATTRIBUTORS, build_attributor
from radarstream.lab.attacks.corpus import Corpus, RememberingEmbedder
from radarstream.lab.attacks.questions import Questions
from radarstream.lab.attribution.events import (
    ScopeRule,
    findings,
    observe,
    rag_origin_scope,
    row_of,
    verified,
    with_removal,
)
from radarstream.lab.attribution.records import (
    EVENTS,
    FILES,
    AttributionRecord,
    AttributionRow,
    CaseState,
    EventKey,
    EventRow,
)
from radarstream.lab.attribution.scenarios import Scenario, Staged, staged
from radarstream.lab.methods.thresholds import Thresholded
from radarstream.lab.study.harness import Study
from radarstream.lab.study.plugin import Batch, Request, batched
from radarstream.lab.study.record import SHARED, digests
from radarstream.lab.study.rows import ERROR_CHARACTERS, EVIDENCE_WORK
from radarstream.lab.study.specs import ALL, Spec, expanded, servable
from radarstream.pipelines.settings import Settings
from radarstream.pipelines.signals.fulfilment import check_needs, drive
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.responses import or_raise
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.wording import counted_noun

TEXTS = 1_000  # benign ones, from which thresholds are taken (RAGOrigin, section 6.1.3)
NO_CORPUS = (
    "the questions bring no documents, so that all texts searched are planted ones: name a data "
    "set that has some as another --dataset"
)


def attributor_of(spec: Spec) -> Attributor:
    """Raises ConfigurationError for an unknown method, and for options that it refuses."""
    return build_attributor(spec.method, dict(spec.options))


def parse_attributors(text: str) -> tuple[Spec, ...]:
    """Read a list such as `norm,rag_origin:block=2`; `all` stands for every method.

    Raises ConfigurationError for what cannot be read and for options that a method refuses.
    """
    specs = {spec.name: spec for spec in map(Spec.of, expanded(text, {ALL: ATTRIBUTORS}))}
    for spec in specs.values():
        attributor_of(spec)
    return tuple(specs.values())


def served(
    specs: Sequence[Spec], models: Models, benign: int, insisted: str
) -> tuple[tuple[Spec, ...], tuple[str, ...]]:
    """The attributors that the models and the `benign` texts of the corpus can serve, and notes on
    those left out.

    Raises ConfigurationError for one that `insisted`, the list it came from, names by itself.
    """

    def check(spec: Spec) -> None:
        attributor = attributor_of(spec)
        check_needs(attributor, models)
        if wants_threshold(attributor) and not benign:
            raise ConfigurationError(
                f"{spec.name} takes its threshold from benign texts, and the questions bring no "
                "documents: name a data set that has some as another --dataset, or give a threshold"
            )

    kept, left_out = servable(specs, check, insisted)
    notes = [*([] if benign else [NO_CORPUS]), *left_out]
    if not kept:
        raise ConfigurationError("; ".join(["no attributor to evaluate", *notes]))
    uncalibrated = [spec.name for spec in kept if wants_threshold(attributor_of(spec))]
    if uncalibrated and benign < TEXTS:
        of = counted_noun(benign, "benign text")
        notes.append(f"thresholds of {', '.join(uncalibrated)} come from {of}, not from {TEXTS:,}")
    return tuple(kept), tuple(notes)


def wants_threshold(attributor: Attributor) -> bool:
    """Whether an attributor is to be given its threshold by benign texts."""
    return isinstance(attributor, Thresholded) and attributor.threshold is None


def benign_sample(corpus: Corpus, seed: int) -> tuple[str, ...]:
    """At most `TEXTS` texts of a clean corpus, drawn by the seed."""
    passages = [entry.document.passage for entry in corpus.entries]
    rng = np.random.default_rng(seed)
    drawn = rng.choice(len(passages), min(TEXTS, len(passages)), replace=False)
    return tuple(passages[i] for i in drawn)


AT_ONCE = 4  # cases attributed in lockstep, and lost when a run is stopped
NARROWS = "rag_origin"  # the method that chooses its scope by itself
PREPARED = Batch("preparation", 0)  # ends work whose time says nothing about what is left

HERE = "radarstream.lab.attribution"
# What events depend on, beside what the signals of a pipeline do.
STAGING = (
    *(f"{HERE}.{name}" for name in ("events", "scenarios")),
    *(f"radarstream.lab.attacks.{name}" for name in ("corpus", "protocol", "texts", "variations")),
    "radarstream.lab.attacks.questions",
    "radarstream.lab.study.scoring",
)
JUDGING = (*SHARED, f"{HERE}.events", "radarstream.pipelines.signals.fulfilment")

AttributionStudy = Study[AttributionRecord]


@dataclass(frozen=True, kw_only=True)
class AttributionRequest(Request):
    """Which attributors meet which scenarios; `k` texts are answered from."""

    scenarios: tuple[Scenario, ...]
    attributors: tuple[Spec, ...]
    k: int = 5


@dataclass
class AttributionPlugin:
    """The plug-in: every attributor on every wrong answer that a scenario leads to.

    `scope_rule` says how many of an event's texts are judged. Raises ConfigurationError when there
    is no question to ask.
    """

    request: AttributionRequest
    settings: Settings
    models: Models
    scope_rule: ScopeRule = rag_origin_scope
    scopes: dict[EventKey, int] = field(default_factory=dict)

    files = FILES

    def __post_init__(self) -> None:
        self.questions = Questions.of(self.request.dataset, self.request.limit, self.request.half)
        if not self.questions.asked:
            raise ConfigurationError(
                "nothing to ask: every question asks for a long answer, which is not scored, or is "
                "in the other half"
            )

    def describe(self) -> AttributionRecord:
        """The record of this run alone."""
        request, tokens = self.request, self.models.tokens
        common = request.common(self.models, self.settings)
        common["models"] |= {"tokens": tokens.model_id} if tokens else {}
        return AttributionRecord(
            **common,
            **request.asking(self.questions.asked),
            texts=len(self.questions.corpus.entries),
            scenarios=tuple(scenario.name for scenario in request.scenarios),
            attributors=request.attributors,
        )

    def code(self, record: AttributionRecord) -> Mapping[str, str | None]:
        """One digest for the events, and one per attributor."""

        def judging(spec: Spec) -> Iterable[str]:
            return (type(attributor_of(spec)).__module__, *JUDGING)

        roots: dict[str, Callable[[], Iterable[str]]] = {EVENTS: lambda: (*STAGING, *SHARED)}
        roots |= {spec.name: partial(judging, spec) for spec in record.attributors}
        return digests(roots)

    def plan(self, study: AttributionStudy) -> Iterator[Batch]:
        """Count the questions that are left to ask and the rows that attributors owe, then do it,
        scenario by scenario.
        """
        self.study = study
        self.events: dict[EventKey, EventRow] = study.store.of(EventRow)
        self.rows: dict[Any, AttributionRow] = study.store.of(AttributionRow)
        embedder = RememberingEmbedder(study.models.embedder)
        self.asking = replace(study.models, embedder=embedder)
        expected = study.progress.expected
        for scenario in self.request.scenarios:
            unasked = len(self.unasked(scenario))
            expected[EVIDENCE_WORK] += unasked
            for spec in self.request.attributors:  # as if every question became a case
                expected[spec.name] += unasked + len(self.due(scenario, spec))
        return self.work()

    def work(self) -> Iterator[Batch]:
        """Events and attributions. The corpus is embedded first, so that no question is timed with
        it.
        """
        if self.study.progress.total:
            self.study.progress.doing = "embedding the corpus"
            passages = [entry.document.passage for entry in self.questions.corpus.entries]
            if passages:
                self.asking.embedder.embed(passages)
            yield PREPARED
        for scenario in self.request.scenarios:
            yield from self.run_scenario(scenario)

    def run_scenario(self, scenario: Scenario) -> Iterator[Batch]:
        """Ask every question that is left, then give every attributor what it owes."""
        unasked = self.unasked(scenario)
        if not unasked and not any(self.due(scenario, s) for s in self.request.attributors):
            return
        found = staged(scenario, self.questions, self.request.k)
        items = dict(zip((s.query.id for s in self.questions.asked), found, strict=True))
        yield PREPARED
        self.study.progress.doing = f"{scenario.name}: asking"
        for part in batched(unasked, self.settings.batch.snapshots):
            rows = self.asked([items[query_id] for query_id in part])
            yield Batch(EVIDENCE_WORK, len(part), rows)
        ready = {key: item for key, item in items.items() if isinstance(item, Staged)}
        for spec in self.request.attributors:
            self.study.progress.doing = f"{scenario.name}: {spec.name}"
            yield from self.attribute(scenario, spec, ready)

    def asked(self, items: Sequence[Staged | EventRow]) -> list[EventRow]:
        """What becomes of some questions."""
        rows = [item for item in items if isinstance(item, EventRow)]
        ready = [item for item in items if isinstance(item, Staged)]
        rows += verified(observe(ready, self.asking, k=self.request.k), self.asking)
        spared = sum(row.outcome is not CaseState.EVENT for row in rows)
        for spec in self.request.attributors:
            self.study.progress.expected[spec.name] -= spared
        return rows

    def attribute(
        self, scenario: Scenario, spec: Spec, items: Mapping[str, Staged]
    ) -> Iterator[Batch]:
        """What an attributor makes of the cases that it has not seen."""
        due = self.due(scenario, spec)
        if not due:
            return
        attributor = self.calibrated(spec)
        yield PREPARED
        for part in batched(due, AT_ONCE):
            events = [self.events[scenario.name, query_id] for query_id in part]
            sized, rows = self.sized(spec, events)
            narrows = spec.method == NARROWS
            rows += findings(spec.name, attributor, sized, self.asking, narrows=narrows)
            given = {event.query_id: event.reported or "" for event in events}
            rows = with_removal(rows, items, self.asking, k=self.request.k, reported=given)
            yield Batch(spec.name, len(part), rows)

    def calibrated(self, spec: Spec) -> Attributor:
        """The attributor, with a threshold from benign texts if it takes one and has none.

        Raises ModelError when the texts cannot be measured.
        """
        attributor = attributor_of(spec)
        if not isinstance(attributor, Thresholded) or not wants_threshold(attributor):
            return attributor
        thresholds = self.study.record.thresholds
        if spec.name not in thresholds:
            benign = benign_sample(self.questions.corpus, self.request.seed)
            (found,) = drive([attributor.threshold_from(benign)], self.asking)
            thresholds = thresholds | {spec.name: or_raise(found)}
            self.study.update(thresholds=thresholds)
            self.study.write_record()
        return replace(attributor, threshold=thresholds[spec.name])

    def sized(
        self, spec: Spec, events: Sequence[EventRow]
    ) -> tuple[list[tuple[EventRow, int]], list[AttributionRow]]:
        """Events with their scope, and rows of those whose scope failed."""
        unknown = [event for event in events if event.key not in self.scopes]
        failed: list[AttributionRow] = []
        sizes = drive([self.scope_rule(event.case()) for event in unknown], self.asking)
        for event, size in zip(unknown, sizes, strict=True):
            if isinstance(size, ModelError):
                error = f"scope: {size}"[:ERROR_CHARACTERS]
                failed.append(replace(row_of(spec.name, event), error=error))
            else:
                self.scopes[event.key] = size
        known = [(event, self.scopes[event.key]) for event in events if event.key in self.scopes]
        return known, failed

    def unasked(self, scenario: Scenario) -> list[str]:
        """Ids of the questions that are not asked yet, or whose models failed."""
        ids = [snapshot.query.id for snapshot in self.questions.asked]
        found = {id_: self.events.get((scenario.name, id_)) for id_ in ids}
        return [id_ for id_, event in found.items() if event is None or event.error is not None]

    def due(self, scenario: Scenario, spec: Spec) -> list[str]:
        """Ids of the questions that are cases and lack a sound row."""
        keys = ((scenario.name, snapshot.query.id) for snapshot in self.questions.asked)
        return [
            key[1]
            for key in keys
            if (event := self.events.get(key))
            and event.outcome is CaseState.EVENT
            and not self.complete(spec.name, key)
        ]

    def complete(self, name: str, event: EventKey) -> bool:
        """Whether a row is there, without an error."""
        row = self.rows.get((name, *event, 0))
        return row is not None and row.error is None
