"""A question with its steps, and the sites whose pages were rejected, for the replay page."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from radarstream.pipelines.pages.replay.step_view import FOOLED, DocumentRow, StepView


@dataclass(frozen=True, slots=True)
class QueryView:
    """One question and its steps in order. `anchor` is the fragment that links to it."""

    anchor: str
    number: int
    query_id: str
    question: str
    steps: tuple[StepView, ...]

    @property
    def attacked(self) -> tuple[StepView, ...]:
        """Steps an attack was planted in."""
        return tuple(step for step in self.steps if step.attack)

    @property
    def fooled(self) -> tuple[StepView, ...]:
        """Steps whose answer states a planted falsehood."""
        return tuple(step for step in self.steps if step.outcome in FOOLED)

    @property
    def changed(self) -> tuple[StepView, ...]:
        """Steps whose answer differs from the step before."""
        return tuple(step for step in self.steps if step.changed)

    @property
    def undefended(self) -> bool:
        """Whether any step has an undefended answer to compare with."""
        return any(step.undefended is not None for step in self.steps)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One site over the run: how often its pages came up, were cut, or taught a wrong answer."""

    domain: str
    appearances: int
    cut: int
    planted: int
    taught: int
    claim: str
    example: StepView
    linked: bool


def sources_of(queries: Sequence[QueryView], sections: frozenset[int]) -> tuple[SourceRow, ...]:
    """Sites whose pages were rejected for what they say, those rejected most first."""
    seen: dict[str, list[tuple[StepView, DocumentRow]]] = defaultdict(list)
    linked = {step.anchor for query in queries if query.number in sections for step in query.steps}
    for query in queries:
        for step in query.steps:
            for row in step.documents:
                if row.domain and row.atomic_answer is not None:
                    seen[row.domain].append((step, row))
    rows = [_source(name, found, linked) for name, found in seen.items()]
    rows = [row for row in rows if row.cut or row.taught]
    rows.sort(key=lambda row: (-row.taught, -row.planted, -row.cut / row.appearances, row.domain))
    return tuple(rows[:12])


def _source(
    name: str, found: Sequence[tuple[StepView, DocumentRow]], linked: set[str]
) -> SourceRow:
    cut = [(step, row) for step, row in found if not row.kept]
    taught = [(step, row) for step, row in found if row in step.taught_by]
    example, row = (taught or cut or found)[-1]
    return SourceRow(
        domain=name,
        appearances=len(found),
        cut=len(cut),
        planted=sum(bool(row.attack) for _, row in found),
        taught=len(taught),
        claim=row.atomic_answer or "",
        example=example,
        linked=example.anchor in linked,
    )
