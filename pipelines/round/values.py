"""The types of a snapshot after each step of a round, and the stages whose costs are counted.

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
    """A stage whose model calls and seconds are counted."""

    RERANKING = "reranking"
    READING = "reading"
    ANSWERS = "atomic answers"
    RELATIONS = "relations"
    UNDEFENDED = "undefended answer"
    DEFENCE = "defence"  # includes the final answer


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
    """Charge calls of the stage's models within the block to the stage, and trace them."""
    asked = (getattr(models, port) for port in PORTS[stage])
    with traces().stage(stage, items), costs.stage(stage, *asked, records=len(items)):
        yield


@dataclass(frozen=True, slots=True)
class Observed:
    """A snapshot with the documents that models may see, and the others with reasons.

    `trace` is the traceparent of the request, "" for none; None means the caller's span.
    """

    snapshot: SearchSnapshot
    left_out: tuple[LeftOut, ...] = ()
    trace: str | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A snapshot with the documents that the defence sees; without a reranker all.

    `begun` is the round's span, None without tracing.
    """

    reranked: Reranked
    left_out: tuple[LeftOut, ...] = ()
    begun: Begun = None

    @property
    def snapshot(self) -> SearchSnapshot:
        """The snapshot with the chosen documents."""
        return self.reranked.snapshot

    @property
    def usable(self) -> SearchSnapshot:
        """The snapshot with all documents except withheld ones."""
        documents = (*self.snapshot.documents, *self.reranked.dropped)
        return replace(self.snapshot, documents=documents)

    def completed(self, event: AnswerEvent) -> AnswerEvent:
        """Add the documents that the defence did not see to an event, at their ranks."""
        return with_left_out(self.reranked.completed(event), self.left_out)


@dataclass(frozen=True, eq=False)
class Ready:
    """A snapshot with the evidence for the defence.

    `whole` has the texts of all documents; `evidence` has those that were read, with answers and
    relations.
    """

    chosen: Chosen
    whole: Evidence
    evidence: Evidence


@dataclass(frozen=True)
class Decided(Generic[StateT]):
    """A verdict, the new state, and the support of the answer, if any.

    `changed` is whether the answer differs in meaning from the previous one, None without one.
    """

    verdict: Verdict
    state: StateT
    changed: bool | None
    support: Support | None


@dataclass(frozen=True)
class Concluded(Generic[StateT]):
    """The event of a snapshot and the new memory."""

    chosen: Chosen
    event: AnswerEvent
    memory: Memory[StateT]


def onward(
    items: Sequence[InT | Failure], step: Callable[[Sequence[InT]], Sequence[OutT | Failure]]
) -> list[OutT | Failure]:
    """Run a step on all items that have not failed; failures stay in their places."""
    alive = [item for item in items if not isinstance(item, Failure)]
    taken = iter(step(alive) if alive else ())
    return [item if isinstance(item, Failure) else next(taken) for item in items]


def where(
    wanted: Sequence[bool], items: Sequence[InT], work: Callable[[Sequence[InT]], Sequence[OutT]]
) -> list[OutT | None]:
    """Call `work` once with the wanted items; the others have None in their places."""
    some = [item for item, want in zip(items, wanted, strict=True) if want]
    made = iter(work(some) if some else ())
    return [next(made) if want else None for want in wanted]
