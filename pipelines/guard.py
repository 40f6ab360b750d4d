"""DefensePipeline: snapshot + memory -> defended answer + memory.

A guard binds a defence to its models; the work is done by `radarstream.pipelines.stages`. The same
object serves a notebook, a replay, the Beam job and a study.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Generic

from radarstream.defenses.options import as_asked, options_of
from radarstream.defenses.protocol import Defense, Signal, needs_at
from radarstream.defenses.retrieval.protocol import RetrievalDefense
from radarstream.pipelines import stages
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.metering import Costs, Meter
from radarstream.pipelines.signals.ports import Models, SourceLedger
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.pipelines.stages import Decided, Failure, Gathered, Reranked
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Memory, StateT
from radarstream.schemas.snapshot import Query, SearchSnapshot

Concluded = tuple[AnswerEvent, Memory[StateT]]
Item = tuple[SearchSnapshot, Evidence | ModelError, Memory[StateT]]


@dataclass(frozen=True)
class DefensePipeline(Generic[StateT]):
    """Defends one query's snapshots, one after another; holds no state of its own.

    `baseline` answers the same snapshot without a defence, for comparison; it sees the same
    evidence and never influences the defended answer: when a model fails it, the event merely has
    no undefended answer. `sources` is read at the moment of the decision, if the defence asks.
    `min_support` is how many independent sites must say what is answered; 0 gives every answer of
    the defence, as published methods do. A query may say otherwise for itself.
    `reading` says which parts of long documents all of them read. `reranker` chooses at most
    `keep` documents of a snapshot, which defence and baseline then see; without it they see all.
    """

    name: str
    defense: Defense[StateT]
    models: Models
    baseline: Defense[None] | None = None
    meter: Meter = field(default_factory=Meter)
    sources: SourceLedger | None = None
    min_support: int = 0
    reading: ReadingSettings = ReadingSettings()
    reranker: RetrievalDefense | None = None
    keep: int = 10

    def __post_init__(self) -> None:
        if Signal.SOURCE_HONESTY in self.defense.needs and self.sources is None:
            raise ConfigurationError(f"{self.name} with a source prior needs a ledger of sources")
        for method in (self.defense, self.baseline, self.reranker):
            if method is not None:
                check_needs(method, self.models)

    def initial_memory(self) -> Memory[StateT]:
        """The memory before the first snapshot."""
        return Memory(step=0, state=self.defense.initial_state())

    def needs(self, snapshot: SearchSnapshot) -> frozenset[Signal]:
        """The signals that the defence reads in a snapshot."""
        return needs_at(self.defense, len(snapshot.documents))

    def answer(
        self, snapshot: SearchSnapshot, memory: Memory[StateT]
    ) -> tuple[AnswerEvent, Memory[StateT]]:
        """Defend one snapshot. Raises ModelError when a model does not answer, EvidenceError when
        the defence refuses the snapshot.
        """
        (found,) = self.rerank([snapshot])
        if isinstance(found, Failure):
            raise found
        (evidence,) = self.gather([found.snapshot])
        (outcome,) = self.decide([(found.snapshot, evidence, memory)])
        if isinstance(outcome, Failure):
            raise outcome
        event, after = outcome
        return found.told(event), after

    def rerank(self, snapshots: Sequence[SearchSnapshot]) -> list[Reranked | Failure]:
        """What the defence is to see of each snapshot, in one batch per model."""
        if self.reranker is None:
            return [Reranked(snapshot) for snapshot in snapshots]
        return stages.rerank(self.reranker, self.keep, snapshots, self.models, self.meter)

    def gather(self, snapshots: Sequence[SearchSnapshot]) -> list[Evidence | ModelError]:
        """Compute what the defence needs to know of each snapshot, in one batch per model."""
        return self.relate(self.atomic_answers(snapshots))

    def atomic_answers(self, snapshots: Sequence[SearchSnapshot]) -> list[Gathered]:
        """The first half of `gather`: what is read, and one answer per document where needed."""
        items = stages.read(snapshots, self.reading, self.models, self.meter)
        return stages.atomic_answers(items, self.needs, self.models, self.meter)

    def relate(self, items: Sequence[Gathered]) -> list[Evidence | ModelError]:
        """The second half of `gather`: relations between the answers, and both as evidence."""
        gathered = stages.relate(items, self.needs, self.models, self.meter)
        return [item.evidence(self.needs(item.snapshot)) for item in gathered]

    def decide(
        self,
        items: Sequence[Item[StateT]],
        costs: Costs | None = None,
    ) -> list[Concluded[StateT] | Failure]:
        """Answer one snapshot of each of several queries, in lockstep.

        An item whose evidence is a ModelError, or which fails here, is its error. `costs` hears
        what is asked, in place of the guard's own meter.
        """
        costs = costs or self.meter
        evidences = [evidence for _, evidence, _ in items]
        undefended = stages.undefended_answers(self.baseline, evidences, self.models, costs)
        known = self.knowing_sources([snapshot for snapshot, _, _ in items], evidences)
        ready = [(e, memory.state) for e, (_, _, memory) in zip(known, items, strict=True)]
        decisions = stages.decide(self.defense, ready, self.models, costs)
        return [
            decision
            if isinstance(decision, Failure)
            else self.told(snapshot, memory, decision, bare)
            for (snapshot, _, memory), decision, bare in zip(
                items, decisions, undefended, strict=True
            )
        ]

    def told(
        self,
        snapshot: SearchSnapshot,
        memory: Memory[StateT],
        decision: Decided[StateT],
        undefended: str | None,
    ) -> Concluded[StateT]:
        """The event, with the rules that its answer was given by, and the memory.

        An answer that lacks support is not given.
        """
        least = self.min_support_of(snapshot.query)
        decision = stages.insisting(decision, least, memory.state)
        event, after = stages.conclude(
            self.name, self.models, snapshot, memory, decision, undefended
        )
        rules = options_of(as_asked(self.defense, snapshot.query))
        return replace(event, options=rules, min_support=least), after

    def min_support_of(self, query: Query) -> int:
        """How many independent sites must say the answer to a query.

        Texts of some sentences hardly ever mean the same: without a word of the query's own, they
        are given whatever their support.
        """
        if query.min_support is not None:
            return query.min_support
        return 0 if query.long_form else self.min_support

    def knowing_sources(
        self, snapshots: Sequence[SearchSnapshot], evidences: Sequence[Evidence | ModelError]
    ) -> Sequence[Evidence | ModelError]:
        """Complete the evidence with what the ledger says now of the documents' sources."""
        if self.sources is None or Signal.SOURCE_HONESTY not in self.defense.needs:
            return evidences
        return [
            replace(evidence, source_honesty=known) if isinstance(evidence, Evidence) else evidence
            for evidence, known in zip(evidences, self.sources.honesty(snapshots), strict=True)
        ]
