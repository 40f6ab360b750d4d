"""What contenders see, gathered once per snapshot and condition, and what each of them answers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from radarstream.defenses.protocol import EVIDENCE, Defense, RetrievalDefense, Signal, needs_at
from radarstream.lab.attacks.conditions import sites_of_planted
from radarstream.lab.defences.answers import REPLAY
from radarstream.lab.defences.contenders import adapted
from radarstream.lab.defences.records import EvidenceRow, Row
from radarstream.lab.methods.temporal import Pool
from radarstream.lab.study.costs import ATOMIC, RELATIONS, ItemCosts, Ledger, Spending
from radarstream.lab.study.kind import batched
from radarstream.lab.study.record import WAYS_OUT
from radarstream.lab.study.rows import error_words
from radarstream.lab.study.specs import Spec
from radarstream.pipelines.job.replaying.record import in_short
from radarstream.pipelines.round import gathering
from radarstream.pipelines.round.gathering import part_of
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Chosen, Concluded, Ready, onward
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.evidence import answer_pairs, document_prompts, sentence_prompts
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.metering import Costs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import Reranked, rerank
from radarstream.schemas.codec import encode_state
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, FloatArray, Relations
from radarstream.schemas.memory import Memory
from radarstream.schemas.prompt import AnswerPair
from radarstream.schemas.retrieval import Reranking
from radarstream.schemas.snapshot import Labels, SearchSnapshot
from radarstream.schemas.verdict import Reason

DECIMALS = 4


@dataclass(frozen=True, eq=False)
class Gathered:
    """One snapshot with its signals, its step in its history, and what they cost.

    `snapshot` has the texts that models read. Of the three the first has no signals, the next has
    atomic answers, the last relations, too, as far as anybody needs them.
    `relation_seconds` is what relating took, or once took if that is known. `reranking` says how
    the documents were chosen, `poisoned_sites` on how many sites planted ones were found.
    """

    snapshot: SearchSnapshot
    read: Evidence | Failure
    answered: Evidence | Failure
    related: Evidence | Failure
    step: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    relation_seconds: float = 0.0
    reranking: Reranking | None = None
    poisoned_sites: int = 0

    @property
    def answers(self) -> tuple[AtomicAnswer, ...]:
        """What each document says by itself; nothing where that failed or nobody needs it."""
        return () if isinstance(self.answered, Failure) else self.answered.answers or ()

    @property
    def relations(self) -> Relations | None:
        """How these relate."""
        return None if isinstance(self.related, Failure) else self.related.relations

    @property
    def pairs(self) -> list[AnswerPair]:
        """The pairs that relating the answers asks for."""
        return answer_pairs(self.snapshot.query.text, self.answers)

    def evidence(self, needs: frozenset[Signal]) -> Evidence | Failure:
        """What a defence with these needs is given, or why it cannot be."""
        if Signal.RELATIONS in needs:
            return self.related
        return self.answered if needs & EVIDENCE else self.read

    def charge(self, tally: Spending, needs: frozenset[Signal], seen: Evidence | Failure) -> None:
        """Add what these signals cost of the documents that are `seen`, all where they failed."""
        tally.ledger = self.ledger
        if needs & EVIDENCE:
            documents = self.snapshot if isinstance(seen, Failure) else seen
            for prompt in document_prompts(documents):
                tally.charge_prompt(prompt, ATOMIC)
            for prompt in sentence_prompts(documents):
                if prompt.digest() in self.ledger.completions:  # it was asked
                    tally.charge_prompt(prompt, ATOMIC)
        if Signal.RELATIONS in needs:
            answers = self.answers if isinstance(seen, Failure) else seen.answers or ()
            pairs = answer_pairs(self.snapshot.query.text, answers)
            tally.charge_pairs(pairs)
            tally.counts[RELATIONS] = self.relation_seconds * len(pairs) / max(1, len(self.pairs))

    def row(self, condition: str) -> EvidenceRow:
        """What is written down of it."""
        known, tally = self.relations, Spending(self.ledger)
        self.charge(tally, frozenset({Signal.ATOMIC_ANSWERS}), self.answered)
        return EvidenceRow(
            condition=condition,
            query_id=self.snapshot.query.id,
            question=self.snapshot.query.text,
            step=self.step,
            observed_at=self.snapshot.observed_at,
            documents=self.snapshot.documents,
            labels=self.snapshot.labels or Labels(),
            answers=tuple(None if a.abstained else a.text for a in self.answers),
            entailment=rounded(known.entailment) if known else (),
            contradiction=rounded(known.contradiction) if known else (),
            relation_seconds=self.relation_seconds,
            reranking=self.reranking,
            cost=tally.cost(),
        )


def gather(
    snapshots: Sequence[tuple[SearchSnapshot, int]],
    needs: frozenset[Signal],
    reading: ReadingSettings,
    models: Models,
    reranker: RetrievalDefense | None = None,
    keep: int = 10,
) -> list[Gathered]:
    """The signals of snapshots, each with its step, in one batch per model. A `reranker` first
    chooses at most `keep` documents of each; no contender is charged for that.
    """
    ledger = Ledger()
    costs = ItemCosts(ledger)
    bare = [snapshot for snapshot, _ in snapshots]
    reranked: Sequence[Reranked | Failure] = [Reranked(snapshot) for snapshot in bare]
    if reranker is not None:
        reranked = rerank(reranker, keep, bare, models, Costs())
    chosen = [one if isinstance(one, Failure) else Chosen(one) for one in reranked]
    read = onward(
        chosen,
        lambda items: gathering.read([one.snapshot for one in items], reading, models, costs),
    )
    answered = onward(
        read, lambda items: gathering.answer(items, [needs] * len(items), models, costs)
    )
    related = onward(
        answered, lambda items: gathering.relate(items, [needs] * len(items), models, costs)
    )
    gathered = []
    for (snapshot, step), one, bare_one, with_answers, with_relations in zip(
        snapshots, reranked, read, answered, related, strict=True
    ):
        seen = snapshot if isinstance(one, Failure) else one.snapshot
        if isinstance(bare_one, Evidence):
            seen = replace(seen, documents=bare_one.documents)
        item = Gathered(
            seen,
            read=bare_one,
            answered=with_answers,
            related=with_relations,
            step=step,
            ledger=ledger,
            reranking=None if isinstance(one, Failure) else one.reranking,
            poisoned_sites=sites_of_planted(snapshot),
        )
        seconds = sum(ledger.seconds.get(pair, 0.0) for pair in item.pairs)
        gathered.append(replace(item, relation_seconds=seconds))
    return gathered


def rounded(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    """A matrix as rows of plain numbers."""
    return tuple(map(tuple, np.round(matrix, DECIMALS).tolist()))


def check_evidence(stored: EvidenceRow, found: EvidenceRow) -> None:
    """Raise ConfigurationError, naming the first difference, unless both show contenders the same.
    Answers count where both have them: a call that failed, or was not needed, has none.
    """
    answered = bool(stored.answers and found.answers)
    seen, now = (shown_to_all(row, answered=answered) for row in (stored, found))
    for what in dict.fromkeys((*seen, *now)):
        if seen.get(what) != now.get(what):
            raise ConfigurationError(
                f"the evidence there is not the evidence now: {stored.condition}, "
                f"{stored.query_id}, step {stored.step}: {what}: "
                f"{in_short(seen.get(what))!r} there, "
                f"{in_short(now.get(what))!r} here. {WAYS_OUT}"
            )


def shown_to_all(row: EvidenceRow, *, answered: bool) -> dict[str, object]:
    """What contenders are given, by what it is called in an error message."""
    found: dict[str, object] = {"question": row.question}
    for number, d in enumerate(row.documents, start=1):
        parts = {"rank": d.rank, "title": d.title, "address": d.url, "text": d.text}
        found |= {f"document {number}, its {part}": value for part, value in parts.items()}
    for number, answer in enumerate(row.answers if answered else (), start=1):
        found[f"answer of document {number}"] = answer
    return found


@dataclass(frozen=True)
class Trial:
    """A contender as it meets a condition: its defence, the models it asks, how far it reads."""

    contender: str
    condition: str
    defense: Defense[Any]
    models: Models
    reading: ReadingSettings = ReadingSettings()

    def rows(self, histories: Sequence[Sequence[Gathered]], *, batch: int) -> Iterator[list[Row]]:
        """The rows of every history, a batch of snapshots at a time, each history in time order. A
        failed step leaves the memory as it was: the next one goes on from there.
        """
        pipeline = DefensePipeline(self.contender, self.defense, self.models, reading=self.reading)
        memories = [pipeline.initial_memory() for _ in histories]
        for step in range(max(map(len, histories), default=0)):
            present = [i for i, history in enumerate(histories) if len(history) > step]
            for part in batched(present, batch):
                items = [(histories[i][step], memories[i]) for i in part]
                rows = []
                for i, (row, memory) in zip(part, self.answers(pipeline, items), strict=True):
                    rows.append(row)
                    memories[i] = memory
                yield rows

    def answers(
        self, pipeline: DefensePipeline[Any], items: Sequence[tuple[Gathered, Memory[Any]]]
    ) -> Iterator[tuple[Row, Memory[Any]]]:
        """One row per snapshot and the memory after it, in one batch per model."""
        ledger = Ledger()
        tallies: list[Spending] = []
        given: list[tuple[Ready, Memory[Any], Spending] | Failure] = []
        for seen, memory in items:
            needs = needs_at(self.defense, len(seen.snapshot.documents))
            whole = seen.evidence(needs)
            tallies.append(Spending(ledger))
            if isinstance(whole, Failure):
                given.append(whole)
                continue
            unread = Ready(Chosen(Reranked(seen.snapshot)), whole, part_of(whole, 0))
            (ready,) = pipeline.read_on([unread], [0], Costs())
            given.append(ready if isinstance(ready, Failure) else (ready, memory, tallies[-1]))

        def conclude(
            ready: Sequence[tuple[Ready, Memory[Any], Spending]],
        ) -> list[Concluded[Any] | Failure]:
            costs = ItemCosts(ledger, [tally for *_, tally in ready])
            return pipeline.conclude([(one, memory) for one, memory, _ in ready], costs)

        concluded = onward(given, conclude)
        for (seen, before), start, outcome, tally in zip(
            items, given, concluded, tallies, strict=True
        ):
            memory = before if isinstance(outcome, Failure) else outcome.memory
            seen.charge(
                tally, needs_at(self.defense, len(seen.snapshot.documents)), read_of(start, outcome)
            )
            yield self.row(seen, memory, outcome, tally), memory

    def row(
        self,
        seen: Gathered,
        memory: Memory[Any],
        outcome: Concluded[Any] | Failure,
        tally: Spending,
    ) -> Row:
        """What is written down of one answer or failure; `memory` is the one after it."""
        event = None if isinstance(outcome, Failure) else outcome.event
        return Row(
            contender=self.contender,
            condition=self.condition,
            query_id=seen.snapshot.query.id,
            step=seen.step,
            observed_at=seen.snapshot.observed_at,
            # The false passages are long, and in the evidence row.
            labels=replace(seen.snapshot.labels or Labels(), false_passages=()),
            verdict=event.verdict if event else None,
            error=error_words(outcome) if isinstance(outcome, Failure) else None,
            cost=tally.cost(),
            state_bytes=stored_bytes(memory.state),
            changed=event.changed if event else None,
            status=event.status if event else None,
            confidence=event.confidence if event else None,
            poisoned_sites=seen.poisoned_sites,
        )


def read_of(
    start: tuple[Ready, Memory[Any], Spending] | Failure, outcome: Concluded[Any] | Failure
) -> Evidence | Failure:
    """The documents that were read for an answer."""
    if isinstance(start, Failure) or isinstance(outcome, Failure):
        return start if isinstance(start, Failure) else start[0].evidence
    judged = outcome.event.verdict.documents
    return part_of(start[0].whole, sum(d.reason is not Reason.NOT_READ for d in judged))


def stored_bytes(state: Any) -> int:
    """What a state takes between two steps, as it would be stored; 0 for none."""
    if state is None:
        return 0
    if isinstance(state, Pool):
        return state.bytes + stored_bytes(state.inner)
    return len(encode_state(state))


Answered = tuple[SearchSnapshot, int]  # a snapshot and its step


def baseline_rows(
    contenders: Sequence[Spec],
    histories: Iterable[Sequence[Answered]],
    models: Models,
    reading: ReadingSettings,
    *,
    batch: int,
) -> list[Row]:
    """The answers of every contender to histories in time order, `batch` snapshots at a time.
    Atomic answers and relations are gathered once for all of them; what the models' cache knows is
    not asked again. A failed answer is a row with its error.
    """
    defenses = [adapted(contender) for contender in contenders]
    given = [list(history) for history in histories]
    sizes = {len(snapshot.documents) for history in given for snapshot, _ in history}
    needs = frozenset().union(*(needs_at(d, size) for d in defenses for size in sizes))
    places = [(number, item) for number, history in enumerate(given) for item in history]
    gathered: list[list[Gathered]] = [[] for _ in given]
    for part in batched(places, batch):
        found = gather([item for _, item in part], needs, reading, models)
        for (number, _), seen in zip(part, found, strict=True):
            gathered[number].append(seen)
    return [
        row
        for contender, defense in zip(contenders, defenses, strict=True)
        for rows in Trial(contender.name, REPLAY, defense, models).rows(gathered, batch=batch)
        for row in rows
    ]
