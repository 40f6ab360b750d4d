"""A question and its steps as the page of a replay shows them, scored by what is known."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from radarstream.lab.study.scoring import DEFENDED, UNDEFENDED, Outcome, is_fooled
from radarstream.pipelines.pages.safe_text import domain, shorten
from radarstream.pipelines.pages.steps import (
    DocumentLine,
    StepView,
    candidates_of,
    documents_of,
    lines_of,
)
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.snapshot import Labels, SearchSnapshot

FOOLED = (Outcome.FOOLED, Outcome.BOTH)


@dataclass(frozen=True, slots=True)
class BaselineAnswer:
    """What a baseline said; empty where it abstained or failed."""

    name: str
    answer: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class ScoredStep(StepView):
    """One step with its labels; `fooled_now` says that the answer names the target of this very
    step.
    """

    labels: Labels
    outcome: Outcome
    undefended_outcome: Outcome
    fooled_now: bool
    baselines: tuple[BaselineAnswer, ...]

    @property
    def scored(self) -> bool:
        """Yes."""
        return True

    @property
    def misled(self) -> dict[str, str]:
        """The answers beside the defended one that state a planted falsehood, by who gave them."""
        others = {one.name: one.answer for one in self.baselines if one.outcome in FOOLED}
        if self.undefended_outcome in FOOLED:
            others = {UNDEFENDED: self.undefended or ""} | others
        return others

    @property
    def truth(self) -> str:
        """The right answers."""
        return (" and " if self.labels.all_answers_required else " / ").join(self.labels.answers)

    @property
    def planted(self) -> tuple[DocumentLine, ...]:
        """Documents an attack planted, as far as labels tell."""
        return tuple(line for line in self.documents if line.attack)

    @property
    def teachers(self) -> dict[str, list[int]]:
        """Sites whose kept documents taught the wrong answer, with the documents' ranks."""
        ranks: defaultdict[str, list[int]] = defaultdict(list)
        for line in self.documents if self.outcome in FOOLED else ():
            if line.verdict.kept and line.names_target:
                ranks[shorten(domain(line.document.url), 60)].append(line.verdict.rank)
        return dict(ranks)


@dataclass(frozen=True, slots=True)
class QueryView:
    """One question and its steps in order; one that is `detailed` has a section of its own."""

    number: int
    steps: tuple[ScoredStep, ...]
    detailed: bool = False

    @property
    def question(self) -> str:
        """The question, not too long."""
        return shorten(self.steps[0].event.question, 300)

    @property
    def attacked(self) -> tuple[ScoredStep, ...]:
        """Steps an attack was planted in."""
        return tuple(step for step in self.steps if step.labels.attack)

    @property
    def fooled(self) -> tuple[ScoredStep, ...]:
        """Steps whose answer states a planted falsehood."""
        return tuple(step for step in self.steps if step.outcome in FOOLED)

    @property
    def changed(self) -> tuple[ScoredStep, ...]:
        """Steps whose answer differs from the step before."""
        return tuple(step for step in self.steps if step.event.changed)


@dataclass(frozen=True, slots=True)
class Highlight:
    """One remarkable step; `before` is the answer before it, where that matters."""

    query: QueryView
    step: ScoredStep
    before: str | None = None


def score_step(
    event: AnswerEvent,
    snapshot: SearchSnapshot | None,
    read: SearchSnapshot | None,
    anchor: str,
    earlier_targets: Sequence[str],
    scores: Mapping[str, Mapping[str, Any]],
) -> ScoredStep:
    """View of one event. `snapshot` has its ranks and all documents that were found; `read` is as
    much of it as models read, None where that is not known. `earlier_targets` are the falsehoods
    planted at steps before, `scores` its rows of the table of answers, by contender.
    """
    labels = (snapshot.labels if snapshot else None) or Labels()
    targets = [*earlier_targets, *([labels.target] if labels.target else [])]
    documents = documents_of(event, snapshot)
    lengths = {rank: len(document.text) for rank, document in documents.items()}
    documents |= {document.rank: document for document in (read.documents if read else ())}
    attacks = dict.fromkeys(labels.poisoned_ranks, labels.attack or "planted")
    lines = tuple(
        replace(
            line,
            attack=attacks.get(line.verdict.rank),
            names_target=any(is_fooled(line.verdict.atomic_answer or "", one) for one in targets),
            left_out=max(0, lengths.get(line.verdict.rank, 0) - len(line.document.text)),
        )
        for line in lines_of(event, documents)
    )
    candidates = candidates_of(event, documents)
    defended = scores.get(DEFENDED, {})
    return ScoredStep(
        anchor,
        event,
        lines,
        tuple(replace(one, attack=attacks.get(one.judged.rank)) for one in candidates),
        labels,
        _outcome(defended),
        _outcome(scores.get(UNDEFENDED, {})),
        fooled_now=bool(defended.get("fooled")),
        baselines=tuple(
            BaselineAnswer(name, shorten(row["answer"] or "", 600), _outcome(row))
            for name, row in scores.items()
            if name not in (DEFENDED, UNDEFENDED)
        ),
    )


def _outcome(row: Mapping[str, Any]) -> Outcome:
    return Outcome(row.get("outcome", Outcome.UNLABELLED))
