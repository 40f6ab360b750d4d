"""Guard: snapshot + memory -> defended answer + memory.

The same object serves a notebook, a replay and the Beam job. `gather` computes the signals a
defence needs, `decide` runs the defence; both take many snapshots and fill one model batch.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Generic

from radarstream.defenses.protocol import EVIDENCE, Defense, Relate, Request, Signal
from radarstream.pipelines.signals.atomic_answers import answer_documents
from radarstream.pipelines.signals.fulfilment import drive, fulfil
from radarstream.pipelines.signals.metering import Meter
from radarstream.pipelines.signals.ports import Models, SourceLedger
from radarstream.pipelines.signals.relations import entails, relate_answers
from radarstream.pipelines.signals.token_probabilities import check_needs
from radarstream.schemas.errors import ConfigurationError, ModelError
from radarstream.schemas.events import AnswerEvent, Source
from radarstream.schemas.evidence import AtomicAnswer, Evidence
from radarstream.schemas.memory import Memory, StateT
from radarstream.schemas.snapshot import SearchSnapshot
from radarstream.schemas.verdict import Verdict


@dataclass(frozen=True)
class Guard(Generic[StateT]):
    """Defends one query's snapshots, one after another; holds no state of its own.

    `baseline` answers the same snapshot without a defence, for comparison; it sees the same
    evidence and never influences the defended answer: when a model fails it, the event merely has
    no undefended answer. `sources` is read at the moment of the decision, if the defence asks.
    """

    name: str
    defense: Defense[StateT]
    models: Models
    baseline: Defense[None] | None = None
    meter: Meter = field(default_factory=Meter)
    sources: SourceLedger | None = None

    def __post_init__(self) -> None:
        if Signal.SOURCE_HONESTY in self.defense.needs and self.sources is None:
            raise ConfigurationError(f"{self.name} with a source prior needs a ledger of sources")
        for defense in (self.defense, self.baseline):
            if defense is not None:
                check_needs(defense, self.models)

    def initial_memory(self) -> Memory[StateT]:
        """The memory before the first snapshot."""
        return Memory(step=0, state=self.defense.initial_state())

    def answer(
        self, snapshot: SearchSnapshot, memory: Memory[StateT]
    ) -> tuple[AnswerEvent, Memory[StateT]]:
        """Defend one snapshot. Raises ModelError when a model does not answer."""
        (outcome,) = self.decide([(snapshot, self.gather([snapshot])[0], memory)])
        if isinstance(outcome, ModelError):
            raise outcome
        return outcome

    def gather(self, snapshots: Sequence[SearchSnapshot]) -> list[Evidence]:
        """Compute what the defence needs to know of each snapshot, in one batch per model."""
        answers: Sequence[tuple[AtomicAnswer, ...] | None] = [None] * len(snapshots)
        if self.defense.needs & EVIDENCE:
            answers = self.atomic_answers(snapshots)
        return self.relate(list(zip(snapshots, answers, strict=True)))

    def atomic_answers(self, snapshots: Sequence[SearchSnapshot]) -> list[tuple[AtomicAnswer, ...]]:
        """One answer per document of each snapshot."""
        with self.meter.stage("atomic answers", self.models.generator, records=len(snapshots)):
            return answer_documents(self.models.generator, snapshots)

    def relate(
        self, items: Sequence[tuple[SearchSnapshot, tuple[AtomicAnswer, ...] | None]]
    ) -> list[Evidence]:
        """Complete the evidence with the relations between atomic answers, if needed."""
        if Signal.RELATIONS not in self.defense.needs:
            return [evidence_of(snapshot, answers) for snapshot, answers in items]
        batches = [(snapshot.query.text, answers or ()) for snapshot, answers in items]
        asked = (self.models.relations, self.models.embedder)
        with self.meter.stage("relations", *asked, records=len(items)):
            relations = relate_answers(self.models.relations, batches)
        return [
            Evidence(s.query, s.observed_at, s.documents, answers, related)
            for (s, answers), related in zip(items, relations, strict=True)
        ]

    def decide(
        self, items: Sequence[tuple[SearchSnapshot, Evidence, Memory[StateT]]]
    ) -> list[tuple[AnswerEvent, Memory[StateT]] | ModelError]:
        """Run the defence on one snapshot of each of several queries, in lockstep."""
        undefended = self.undefended_answers([evidence for _, evidence, _ in items])
        items = self.knowing_sources(items)
        with self.meter.stage("defence", *self.counted_models(), records=len(items)):
            decisions = drive(
                [self.defense.defend(evidence, m.state) for _, evidence, m in items], self.models
            )
            changes = self.changes([e.query.text for _, e, _ in items], decisions)
        return [
            self.conclude(snapshot, memory, decision, changed, bare)
            for (snapshot, _, memory), decision, changed, bare in zip(
                items, decisions, changes, undefended, strict=True
            )
        ]

    def knowing_sources(
        self, items: Sequence[tuple[SearchSnapshot, Evidence, Memory[StateT]]]
    ) -> Sequence[tuple[SearchSnapshot, Evidence, Memory[StateT]]]:
        """Complete the evidence with what the ledger says now of the documents' sources."""
        if self.sources is None or Signal.SOURCE_HONESTY not in self.defense.needs:
            return items
        honesty = self.sources.honesty([snapshot for snapshot, _, _ in items])
        return [
            (snapshot, replace(evidence, source_honesty=known), memory)
            for (snapshot, evidence, memory), known in zip(items, honesty, strict=True)
        ]

    def undefended_answers(self, evidences: Sequence[Evidence]) -> list[str | None]:
        """What the baseline says of each snapshot; None without a baseline or where it fails."""
        if self.baseline is None:
            return [None] * len(evidences)
        with self.meter.stage("undefended answer", self.models.generator, records=len(evidences)):
            outcomes = drive([self.baseline.defend(e, None) for e in evidences], self.models)
        return [None if isinstance(o, ModelError) else o[0].answer for o in outcomes]

    def changes(
        self, questions: Sequence[str], decisions: Sequence[tuple[Verdict, StateT] | ModelError]
    ) -> list[bool | None | ModelError]:
        """Whether each answer means something else than the previous one; None if unknown.

        It means the same only if each of the two entails the other.
        """
        changes: list[bool | None | ModelError] = [None] * len(decisions)
        unclear: dict[int, Request] = {}
        for index, (question, decision) in enumerate(zip(questions, decisions, strict=True)):
            if isinstance(decision, ModelError) or decision[0].abstained:
                continue
            new, old = decision[0].answer, decision[0].memory.previous_answer
            if old == new:
                changes[index] = False
            elif old is not None:
                unclear[index] = Relate(question, (old, new), (new, old))
        for index, rows in fulfil(unclear, self.models).items():
            failed = isinstance(rows, ModelError)
            changes[index] = rows if failed else not entails(rows).all()
        return changes

    def conclude(
        self,
        snapshot: SearchSnapshot,
        memory: Memory[StateT],
        decision: tuple[Verdict, StateT] | ModelError,
        changed: bool | None | ModelError,
        undefended: str | None,
    ) -> tuple[AnswerEvent, Memory[StateT]] | ModelError:
        """Turn a decision into the event to emit and the memory to keep."""
        if isinstance(decision, ModelError):
            return decision
        if isinstance(changed, ModelError):
            return changed
        verdict, state = decision
        event = AnswerEvent(
            query_id=snapshot.query.id,
            question=snapshot.query.text,
            step=memory.step,
            snapshot_id=snapshot.id,
            observed_at=snapshot.observed_at,
            provenance=snapshot.provenance,
            defense=self.name,
            answer=verdict.answer,
            abstention=verdict.abstention,
            changed=changed,
            verdict=verdict,
            sources=tuple(Source(d.rank, d.title, d.url) for d in snapshot.documents),
            undefended_answer=undefended,
            generator=self.models.generator.model_id,
            relation_scorer=self.models.relations.model_id,
            tags=snapshot.query.tags,
        )
        return event, Memory(memory.step + 1, state)

    def counted_models(self) -> tuple[object, ...]:
        """The models whose calls the meter charges to the defence."""
        return (self.models.generator, self.models.relations, self.models.embedder)


def evidence_of(snapshot: SearchSnapshot, answers: tuple[AtomicAnswer, ...] | None) -> Evidence:
    """Evidence without relations."""
    return Evidence(snapshot.query, snapshot.observed_at, snapshot.documents, answers)
