"""The round: a defence with its models and rules, from snapshots and memories to events.

    withhold > rerank > read > answer > relate | decide > event

The steps before the bar need no memory: Beam runs them (`gather`) before it groups by query, then
`conclude`; the library runs all (`run`). A caller with steps of its own runs them between
`withhold` and `finish`, and may leave out documents (`Observed.left_out`). Lists keep their order;
an item that fails is an error in its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import Generic

from radarstream.connectors.traces import traces
from radarstream.defenses.options import as_asked, options_of
from radarstream.defenses.protocol import Defense, RetrievalDefense, Signal, needs_at
from radarstream.pipelines.round import deciding, gathering
from radarstream.pipelines.round.values import Chosen, Concluded, Decided, Observed, Ready, onward
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.fulfilment import Failure, check_needs
from radarstream.pipelines.signals.metering import Costs, Meter
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import Reranked, rerank
from radarstream.schemas.events import AnswerEvent, Source
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.memory import Memory, StandingAnswer, StateT
from radarstream.schemas.snapshot import Query, SearchSnapshot
from radarstream.schemas.support import AnswerStatus, status_of
from radarstream.schemas.times import time_at


@dataclass(frozen=True)
class DefensePipeline(Generic[StateT]):
    """Defends snapshots of many queries at once; stateless.

    `baseline` answers the same evidence without a defence, for comparison. `reading` says how much
    of the documents is read; `reranker` chooses at most `keep` documents for defence and baseline;
    `rules` withhold documents from all models.
    """

    name: str
    defense: Defense[StateT]
    models: Models
    baseline: Defense[None] | None = None
    meter: Meter = field(default_factory=Meter)
    reading: ReadingSettings = ReadingSettings()
    reranker: RetrievalDefense | None = None
    keep: int = 10
    rules: tuple[gathering.Rule, ...] = ()

    def __post_init__(self) -> None:
        for method in (self.defense, self.baseline, self.reranker):
            if method is not None:
                check_needs(method, self.models)

    def initial_memory(self) -> Memory[StateT]:
        """Return the memory before the first snapshot."""
        return Memory(step=0, state=self.defense.initial_state())

    def run(
        self, items: Sequence[tuple[SearchSnapshot, Memory[StateT]]]
    ) -> list[Concluded[StateT] | Failure]:
        """Answer one snapshot of each of several queries."""
        observed = self.withhold([snapshot for snapshot, _ in items])
        return self.finish([(o, memory) for o, (_, memory) in zip(observed, items, strict=True)])

    def finish(
        self, items: Sequence[tuple[Observed, Memory[StateT]]]
    ) -> list[Concluded[StateT] | Failure]:
        """Answer from the documents that were not left out."""
        ready = onward(self.rerank([observed for observed, _ in items]), self.gather_from)
        remembering = [
            one if isinstance(one, Failure) else (one, memory)
            for one, (_, memory) in zip(ready, items, strict=True)
        ]
        return onward(remembering, self.conclude)

    def answer(
        self, snapshot: SearchSnapshot, memory: Memory[StateT]
    ) -> tuple[AnswerEvent, Memory[StateT]]:
        """Answer one snapshot. Raises ModelError, and EvidenceError of the defence."""
        (outcome,) = self.run([(snapshot, memory)])
        if isinstance(outcome, Failure):
            raise outcome
        return outcome.event, outcome.memory

    def gather(self, snapshots: Sequence[SearchSnapshot]) -> list[Ready | Failure]:
        """Run the steps that need no memory."""
        return onward(self.rerank(self.withhold(snapshots)), self.gather_from)

    def gather_from(self, chosen: Sequence[Chosen]) -> list[Ready | Failure]:
        """Read, answer and relate as far as the defence needs."""
        rounds = [(one.snapshot, one.begun) for one in chosen]
        work = partial(gathering.gather, chosen, self.reading_plan, self.models, self.meter)
        return traces().step(rounds, work)

    def withhold(self, snapshots: Sequence[SearchSnapshot]) -> list[Observed]:
        """Remove the documents that no model may see."""
        return gathering.withhold(self.rules, snapshots)

    def rerank(self, observed: Sequence[Observed]) -> list[Chosen | Failure]:
        """Let the reranker, if any, choose among the documents."""
        snapshots = [item.snapshot for item in observed]
        rounds = [(item.snapshot, traces().begin(item.trace)) for item in observed]

        def work() -> list[Reranked | Failure]:
            if self.reranker is None:
                return [Reranked(snapshot) for snapshot in snapshots]
            return rerank(self.reranker, self.keep, snapshots, self.models, self.meter)

        return [
            one if isinstance(one, Failure) else Chosen(one, item.left_out, begun)
            for item, (_, begun), one in zip(
                observed, rounds, traces().step(rounds, work), strict=True
            )
        ]

    def conclude(
        self, items: Sequence[tuple[Ready, Memory[StateT]]], costs: Costs | None = None
    ) -> list[Concluded[StateT] | Failure]:
        """Decide in lockstep, reading more if needed; `costs` replaces `meter`."""
        rounds = [(ready.whole, ready.chosen.begun) for ready, _ in items]
        return traces().step(rounds, partial(self._concluded, items, costs or self.meter))

    def _concluded(
        self, items: Sequence[tuple[Ready, Memory[StateT]]], costs: Costs
    ) -> list[Concluded[StateT] | Failure]:
        undefended = deciding.undefended_answers(
            self.baseline, [ready.whole for ready, _ in items], self.models, costs
        )

        def decide(some: Sequence[tuple[Ready, Memory[StateT]]]) -> list[Decided[StateT] | Failure]:
            remembering = [(ready.evidence, memory.state) for ready, memory in some]
            return deciding.decide(self.defense, remembering, self.models, costs, self.withstand_of)

        decisions, known = decide(items), list(items)
        least = {
            place: count
            for place, (one, (ready, _)) in enumerate(zip(decisions, items, strict=True))
            if isinstance(one, Decided)
            and (count := self._least_read(ready, one)) > len(ready.evidence.documents)
        }
        read = self.read_on([items[place][0] for place in least], list(least.values()), costs)
        again: list[tuple[Ready, Memory[StateT]] | Failure] = []
        for place, ready in zip(least, read, strict=True):
            again.append(ready if isinstance(ready, Failure) else (ready, items[place][1]))
            known[place] = items[place] if isinstance(ready, Failure) else (ready, items[place][1])
        for place, decision in zip(least, onward(again, decide), strict=True):
            decisions[place] = decision
        return [
            one if isinstance(one, Failure) else self._event(ready, memory, one, bare)
            for (ready, memory), one, bare in zip(known, decisions, undefended, strict=True)
        ]

    def read_on(
        self, items: Sequence[Ready], least: Sequence[int], costs: Costs
    ) -> list[Ready | Failure]:
        """Read at least `least` documents of each snapshot, and on until it is enough."""
        return gathering.read_on(items, least, self.reading_plan, self.models, costs)

    def _least_read(self, ready: Ready, decision: Decided[StateT]) -> int:
        """Return how many documents a decision needs: all for an answer that differs from the
        previous one, `reading.unconfirmed` for the first answer.
        """
        most = gathering.most_of(ready.whole, self.reading)
        if decision.changed:
            return most
        verdict = decision.verdict
        first = verdict.memory.previous_answer is None and not verdict.abstained
        return min(self.reading.unconfirmed, most) if first and self.enough is not None else 0

    @property
    def reading_plan(self) -> gathering.ReadingPlan:
        """The needed signals, when to stop reading, and the settings of reading."""
        return gathering.ReadingPlan(self.needs, self.enough, self.reading)

    @property
    def enough(self) -> gathering.Enough | None:
        """The defence's rule to stop reading; None if it reads all documents."""
        return getattr(self.defense, "enough", None)

    def needs(self, evidence: Evidence) -> frozenset[Signal]:
        """Return the signals that the defence needs for a snapshot."""
        return needs_at(self.defense, len(evidence.documents))

    def withstand_of(self, query: Query) -> int | None:
        """Return how many lying sites the answer withstands; None if the defence counts none."""
        withstands: deciding.Rule | None = getattr(self.defense, "withstands", None)
        return None if withstands is None else withstands(query)

    def _event(
        self,
        ready: Ready,
        memory: Memory[StateT],
        decision: Decided[StateT],
        undefended: str | None,
    ) -> Concluded[StateT]:
        """Make the event and the new memory."""
        snapshot, query = ready.chosen.snapshot, ready.chosen.snapshot.query
        withstand = self.withstand_of(query)
        paged = deciding.with_pages(decision.verdict, snapshot, ready.evidence.documents)
        verdict = deciding.with_unread(snapshot, paged)
        status = status_of(None if verdict.abstained else decision.support, withstand)
        confirmed = status not in (AnswerStatus.ABSTAINED, AnswerStatus.REMEMBERED)
        standing = memory.standing
        if confirmed:
            at = time_at(snapshot.observed_at_ms)  # as stored
            standing = StandingAnswer(verdict.answer, at)
        answered = ready.evidence.answers is not None
        settled = self.enough is not None and answered and self.enough(ready.evidence, inf)
        event = AnswerEvent(
            query_id=query.id,
            question=query.text,
            step=memory.step,
            snapshot_id=snapshot.id,
            observed_at=snapshot.observed_at,
            provenance=snapshot.provenance,
            defense=self.name,
            options=options_of(as_asked(self.defense, query)),
            answer=verdict.answer,
            abstention=verdict.abstention,
            changed=decision.changed,
            verdict=verdict,
            status=status,
            support=decision.support,
            withstand=withstand,
            standing=None if confirmed else standing,
            sources=tuple(map(Source.of, snapshot.documents)),
            result_pages=snapshot.retrieval.pages if snapshot.retrieval else None,
            wanted_more=withstand is not None and not settled,
            undefended_answer=undefended,
            generator=self.models.generator.model_id,
            relation_scorer=self.models.relations.model_id,
            tags=query.tags,
        )
        after = Memory(memory.step + 1, decision.state, standing)
        return Concluded(ready.chosen, ready.chosen.completed(event), after)
