"""The evidence that all contenders share: gathered once per snapshot and condition."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from radarstream.defenses.protocol import Signal
from radarstream.pipelines.evaluation.datasets import is_long_form
from radarstream.pipelines.evaluation.experiment.counting import Ledger, Tally
from radarstream.pipelines.evaluation.experiment.long_form import in_its_form
from radarstream.pipelines.evaluation.experiment.records import EvidenceRow
from radarstream.pipelines.signals.atomic_answers import answer_documents
from radarstream.pipelines.signals.isolation import isolating
from radarstream.pipelines.signals.ports import Models, RelationScorer
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.pipelines.signals.relations import relate_answers
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import AtomicAnswer, Evidence, FloatArray, Relations
from radarstream.schemas.prompt import AnswerPair, Task
from radarstream.schemas.snapshot import Labels, SearchSnapshot

DECIMALS = 4
ANSWERED = frozenset({Signal.ATOMIC_ANSWERS, Signal.RELATIONS})  # signals that need answers
Answers = tuple[AtomicAnswer, ...]


@dataclass(frozen=True)
class Gathered:
    """One snapshot with its signals; a signal that failed is its ModelError, None was not needed.

    `relation_seconds` is what relating took, or once took if that is known.
    """

    snapshot: SearchSnapshot
    step: int
    answers: Answers | ModelError | None
    relations: Relations | ModelError | None
    ledger: Ledger
    relation_seconds: float = 0.0

    def evidence(self, needs: frozenset[Signal]) -> Evidence | ModelError:
        """What a defence with these needs is given, or why it cannot be."""
        answers = self.answers if needs & ANSWERED else None
        relations = self.relations if Signal.RELATIONS in needs else None
        if isinstance(answers, ModelError):
            return answers
        if isinstance(relations, ModelError):
            return relations
        s = self.snapshot
        return Evidence(s.query, s.observed_at, s.documents, answers, relations)

    def tally(self, needs: frozenset[Signal]) -> Tally:
        """The cost with which an answer that needs these signals starts."""
        tally = Tally()
        question = self.snapshot.query.text
        if needs & ANSWERED:
            for document in self.snapshot.documents:
                prompt = build_prompt(Task.ATOMIC_ANSWER, question, (document.passage,))
                tally.charge_prompt(prompt, self.ledger, final=False)
        if Signal.RELATIONS in needs:
            tally.pairs.update(pairs_of(self.snapshot, self.answers))
            tally.relation_seconds = self.relation_seconds
        return tally

    def row(self, condition: str) -> EvidenceRow:
        """What is written down of it."""
        answers = () if isinstance(self.answers, ModelError) else self.answers or ()
        known = self.relations if isinstance(self.relations, Relations) else None
        return EvidenceRow(
            condition=condition,
            query_id=self.snapshot.query.id,
            question=self.snapshot.query.text,
            step=self.step,
            observed_at=self.snapshot.observed_at,
            documents=self.snapshot.documents,
            labels=self.snapshot.labels or Labels(),
            answers=tuple(None if a.abstained else a.text for a in answers),
            entailment=rounded(known.entailment) if known else (),
            contradiction=rounded(known.contradiction) if known else (),
            relation_seconds=self.relation_seconds,
        )


def gather(
    snapshots: Sequence[tuple[SearchSnapshot, int]], needs: frozenset[Signal], models: Models
) -> list[Gathered]:
    """The signals of snapshots, each with its step, in one batch per model."""
    return in_its_form(
        snapshots,
        lambda item: is_long_form(item[0]),
        lambda items, asked: gather_alike(items, needs, asked),
        models,
    )


def gather_alike(
    snapshots: Sequence[tuple[SearchSnapshot, int]], needs: frozenset[Signal], models: Models
) -> list[Gathered]:
    """`gather` for snapshots that all ask for a short answer, or all for a long one."""
    ledger = Ledger()
    noted = ledger.around(models)
    answers: Sequence[Answers | ModelError | None] = [None] * len(snapshots)
    if needs & ANSWERED:
        answers = isolating(partial(answer_documents, noted.generator), [s for s, _ in snapshots])
    related: Sequence[Relations | ModelError | None] = [None] * len(snapshots)
    if Signal.RELATIONS in needs:
        related = relate(noted.relations, [s for s, _ in snapshots], answers)
    return [
        Gathered(snapshot, step, said, relations, ledger, seconds_of(snapshot, said, ledger))
        for (snapshot, step), said, relations in zip(snapshots, answers, related, strict=True)
    ]


def pairs_of(snapshot: SearchSnapshot, answers: Answers | ModelError | None) -> set[AnswerPair]:
    """The pairs that relating the answers asks for."""
    said = () if isinstance(answers, ModelError) else answers or ()
    texts = {a.text for a in said if not a.abstained}
    return {AnswerPair(snapshot.query.text, p, h) for p, h in product(texts, repeat=2)}


def seconds_of(
    snapshot: SearchSnapshot, answers: Answers | ModelError | None, ledger: Ledger
) -> float:
    """What relating the answers took."""
    return sum(ledger.pair_seconds.get(pair, 0.0) for pair in pairs_of(snapshot, answers))


def relate(
    scorer: RelationScorer,
    snapshots: Sequence[SearchSnapshot],
    answers: Sequence[Answers | ModelError | None],
) -> list[Relations | ModelError | None]:
    """Relations where there are answers; a snapshot without has None."""
    known = [i for i, said in enumerate(answers) if isinstance(said, tuple)]
    batch = [
        (snapshots[i].query.text, said) for i in known if isinstance(said := answers[i], tuple)
    ]
    related: list[Relations | ModelError | None] = [None] * len(snapshots)
    outcomes = isolating(lambda part: relate_answers(scorer, part), batch)
    for index, outcome in zip(known, outcomes, strict=True):
        related[index] = outcome
    return related


def rounded(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    """A matrix as rows of plain numbers."""
    return tuple(map(tuple, np.round(matrix, DECIMALS).tolist()))
