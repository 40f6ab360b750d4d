"""The study of attributors: each question is asked, then each attributor gets the wrong answers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from radarstream.defenses.protocol import Attributor
from radarstream.defenses.registry import ATTRIBUTORS, build_attributor
from radarstream.lab.attacks.corpus_kind import NO_CORPUS, CorpusKind
from radarstream.lab.attribution.events import (
    findings,
    observe,
    rag_origin_scope,
    row_of,
)
from radarstream.lab.attribution.records import (
    FILES,
    REFERENCE,
    AttributionRow,
    CaseState,
    EventKey,
    EventRow,
)
from radarstream.lab.attribution.scenarios import Scenario, Staged, staged
from radarstream.lab.methods.thresholds import Thresholded
from radarstream.lab.study.kind import AT_ONCE, Keys, Request, Rows, batched
from radarstream.lab.study.record import StudyRecord
from radarstream.lab.study.rows import ERROR_CHARACTERS
from radarstream.lab.study.specs import ALL, Spec, parse_specs, servable
from radarstream.pipelines.signals.fulfilment import check_needs, drive
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.responses import or_raise
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.wording import counted_noun

if TYPE_CHECKING:
    from radarstream.lab.study.harness import Study

TEXTS = 1_000  # benign ones, from which thresholds are taken (RAGOrigin, section 6.1.3)
NARROWS = "rag_origin"  # the method that chooses its scope by itself


def attributor_of(spec: Spec) -> Attributor:
    """Raises ConfigurationError for an unknown method, and for options that it refuses."""
    return build_attributor(spec.method, dict(spec.options))


def parse_attributors(text: str) -> tuple[Spec, ...]:
    """Read a list such as `norm,rag_origin:block=2`; `all` stands for every method. Raises
    ConfigurationError for what cannot be read and for options that a method refuses.
    """
    return parse_specs(text, attributor_of, {ALL: ATTRIBUTORS})


def wants_threshold(attributor: Attributor) -> bool:
    """Whether an attributor is to be given its threshold by benign texts."""
    return isinstance(attributor, Thresholded) and attributor.threshold is None


class Attributions(CorpusKind):
    """Every attributor on every wrong answer that a scenario leads to; `k` texts are answered from.

    Attributors that models or corpus cannot serve are left out, unless `insisted` on by name.
    Raises ConfigurationError when there is no question to ask or nobody is left.
    """

    name: ClassVar[str] = "attribution"
    files: ClassVar[Mapping[type[Any], str]] = FILES
    gathers: ClassVar[str] = "asking"

    def __init__(  # noqa: PLR0913 what a study varies
        self,
        request: Request,
        models: Models,
        *,
        scenarios: Sequence[Scenario],
        attributors: Sequence[Spec],
        k: int = 5,
        insisted: str = ALL,
    ) -> None:
        super().__init__(request, models, k)
        self.scenarios = {scenario.name: scenario for scenario in scenarios}
        self.conditions, self.reference = tuple(self.scenarios), REFERENCE
        self.scope_rule = rag_origin_scope
        self.scopes: dict[EventKey, int] = {}
        benign = len(self.questions.corpus.entries)
        self.methods, left_out = servable(attributors, self.check, insisted)
        self.notes = (*([] if benign else [NO_CORPUS]), *left_out)
        fitted = [one.name for one in self.methods if wants_threshold(attributor_of(one))]
        if fitted and benign < TEXTS:
            texts = counted_noun(benign, "benign text")
            self.notes += (
                f"thresholds of {', '.join(fitted)} come from {texts}, not from {TEXTS:,}",
            )

    def check(self, spec: Spec) -> None:
        """Raise ConfigurationError for an attributor that lacks a model or benign texts."""
        attributor = attributor_of(spec)
        check_needs(attributor, self.models)
        if wants_threshold(attributor) and not self.questions.corpus.entries:
            raise ConfigurationError(
                f"{spec.name} takes its threshold from benign texts, and the questions bring no "
                "documents: name a data set that has some as another --dataset, or give a threshold"
            )

    def describe(self) -> StudyRecord:
        """The record of this run alone, with the model of token probabilities."""
        record, tokens = super().describe(), self.models.tokens
        more = {"tokens": tokens.model_id} if tokens else {}
        return replace(record, models=record.models | more)

    def begin(self, study: "Study") -> None:
        """Take up the rows."""
        super().begin(study)
        self.events: dict[EventKey, EventRow] = study.store.of(EventRow)

    def missing(self, condition: str) -> list[str]:
        """Ids of the questions that are not asked yet, or whose models failed."""
        return [id_ for id_ in self.asked if self.event(condition, id_) is None]

    def event(self, condition: str, id_: str) -> EventRow | None:
        """What became of a question; None where it was not asked or a model failed."""
        found = self.events.get((condition, id_))
        return None if found is None or found.error is not None else found

    def stage(self, condition: str) -> None:
        """Attack the corpus."""
        found = staged(self.scenarios[condition], self.questions, self.k)
        self.items: dict[str, Staged | EventRow] = dict(zip(self.asked, found, strict=True))

    def gather(self, condition: str, items: Sequence[str]) -> Rows:  # noqa: ARG002 staged
        """What becomes of some questions."""
        found = [self.items[id_] for id_ in items]
        ready = [item for item in found if isinstance(item, Staged)]
        final = [item for item in found if isinstance(item, EventRow)]
        return final + observe(ready, self.asking, k=self.k)

    def owed(self, method: Spec, condition: str) -> Keys:
        """A row for each question that is a case; until it was asked, for each."""
        known = {id_: self.event(condition, id_) for id_ in self.asked}
        return {
            id_: [(method.name, condition, id_, 0)]
            for id_, event in known.items()
            if event is None or event.outcome is CaseState.EVENT
        }

    def ready(self, method: Spec) -> None:
        """Make the attributor, with a threshold from benign texts if it takes one and has none.
        Raises ModelError when the texts cannot be measured.
        """
        self.attributor = made = attributor_of(method)
        if isinstance(made, Thresholded) and wants_threshold(made):
            passages = [entry.document.passage for entry in self.questions.corpus.entries]
            rng = np.random.default_rng(self.request.seed)
            drawn = rng.choice(len(passages), min(TEXTS, len(passages)), replace=False)
            benign = [passages[place] for place in drawn]

            def measure() -> float:
                return or_raise(*drive([made.threshold_from(benign)], self.asking))

            threshold = self.study.threshold(method.name, measure)
            self.attributor = replace(made, threshold=threshold)

    def answer(
        self, method: Spec, condition: str, items: Sequence[str]
    ) -> Iterator[tuple[int, Rows]]:
        """What an attributor makes of cases, and what is answered without the texts it flags."""
        cases = [id_ for id_ in items if self.event(condition, id_) is not None]
        narrows = method.method == NARROWS
        ready = {key: item for key, item in self.items.items() if isinstance(item, Staged)}
        for part in batched(cases, AT_ONCE):
            events = [self.events[condition, query_id] for query_id in part]
            sized, rows = self.sized(method, events)
            made, name = self.attributor, method.name
            rows += findings(name, made, sized, ready, self.asking, narrows=narrows)
            yield len(part), rows

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
