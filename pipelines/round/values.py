"""What a snapshot is after each step of a round, and the steps' marks for whoever counts calls.

SearchSnapshot -> Observed -> Chosen -> Ready -> Decided -> Concluded
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, Generic, TypeVar

from radarstream.connectors.traces import Begun, Located, traces
from radarstream.defenses.protocol import Signal
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import LeftOut, Reranked, with_left_out
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Memory, StateT
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.support import Support
from radarstream.schemas.verdict import Verdict

InT = TypeVar("InT")
OutT = TypeVar("OutT")
Needs = Callable[[Evidence], frozenset[Signal]]  # the signals that a snapshot must get


class Stage(StrEnum):
    """A stage whose calls of models and seconds are counted."""

    RERANKING = "reranking"
    READING = "reading"
    ANSWERS = "atomic answers"
    RELATIONS = "relations"
    UNDEFENDED = "undefended answer"
    DEFENCE = "defence"  # its final answer included


# The models that a stage asks, as fields of `Models`.
PORTS: Final[dict[Stage, tuple[str, ...]]] = {
    Stage.READING: (),
    Stage.ANSWERS: ("generator",),
    Stage.RELATIONS: ("generator", "relations", "embedder"),
    Stage.UNDEFENDED: ("generator",),
    Stage.DEFENCE: ("generator", "relations", "embedder"),
}


@contextmanager
def charging(
    stage: Stage, models: Models, costs: Costs, items: Sequence[Located]
) -> Iterator[None]:
    """A context in which what is asked of the stage's models is charged to it, with its spans."""
    asked = (getattr(models, port) for port in PORTS[stage])
    with traces().stage(stage, items), costs.stage(stage, *asked, records=len(items)):
        yield


@dataclass(frozen=True, slots=True)
class Observed:
    """A snapshot with the documents that models may see, and the others with the reasons.

    `trace` is the traceparent of what asked, "" for nothing; None stands for the caller's span.
    """

    snapshot: SearchSnapshot
    left_out: tuple[LeftOut, ...] = ()
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A snapshot with the documents that a defence is to see; all of them without a reranker.

    `begun` is the round's span, None where nothing is traced.
    """

    reranked: Reranked
    left_out: tuple[LeftOut, ...] = ()
    begun: Begun = None

    @property
    def snapshot(self) -> SearchSnapshot:
        """The snapshot with the documents that were chosen."""
        return self.reranked.snapshot

    @property
    def usable(self) -> SearchSnapshot:
        """The snapshot with all documents but those that a person or an incident ruled out."""
        documents = (*self.snapshot.documents, *self.reranked.dropped)
        return replace(self.snapshot, documents=documents)

    def completed(self, event: AnswerEvent) -> AnswerEvent:
        """The event with the documents that no defence saw, each at its rank with the reason."""
        return with_left_out(self.reranked.completed(event), self.left_out)


@dataclass(frozen=True, eq=False)
class Ready:
    """A snapshot with the evidence that its defence needs.

    `whole` has the texts of all its documents; `evidence` those that were needed, with answers and
    relations.
    """

    chosen: Chosen
    whole: Evidence
    evidence: Evidence


@dataclass(frozen=True)
class Decided(Generic[StateT]):
    """A verdict, the state after it, and what is behind the answer, None without one.

    `changed` tells whether the answer differs in meaning from the last, None where there are no two
    to compare.
    """

    verdict: Verdict
    state: StateT
    changed: bool | None
    support: Support | None


@dataclass(frozen=True)
class Concluded(Generic[StateT]):
    """The event of a snapshot and the memory after it."""

    chosen: Chosen
    event: AnswerEvent
    memory: Memory[StateT]


def onward(
    items: Sequence[InT | Failure], step: Callable[[Sequence[InT]], Sequence[OutT | Failure]]
) -> list[OutT | Failure]:
    """Take a step with all that have not failed at once; a failure stays in its place."""
    alive = [item for item in items if not isinstance(item, Failure)]
    taken = iter(step(alive) if alive else ())
    return [item if isinstance(item, Failure) else next(taken) for item in items]


def where(
    wanted: Sequence[bool], items: Sequence[InT], work: Callable[[Sequence[InT]], Sequence[OutT]]
) -> list[OutT | None]:
    """Call `work` once with the wanted items; None stands in the places of the others."""
    some = [item for item, want in zip(items, wanted, strict=True) if want]
    made = iter(work(some) if some else ())
    return [next(made) if want else None for want in wanted]
