"""The evidence that all contenders share: gathered once per snapshot and condition."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from radarstream.defenses.protocol import EVIDENCE, Signal
from radarstream.pipelines import stages
from radarstream.pipelines.evaluation.costs import ItemCosts, Ledger
from radarstream.pipelines.evaluation.defences.counting import Tally
from radarstream.pipelines.evaluation.defences.records import EvidenceRow
from radarstream.pipelines.signals.evidence import answer_pairs, document_prompts
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.evidence import FloatArray, Relations
from radarstream.schemas.prompt import AnswerPair
from radarstream.schemas.snapshot import Labels, SearchSnapshot

DECIMALS = 4


@dataclass(frozen=True, eq=False)
class Gathered(stages.Gathered):
    """One snapshot with its signals, its step in its history, and what they cost.

    `relation_seconds` is what relating took, or once took if that is known.
    """

    step: int = 0
    ledger: Ledger = field(default_factory=Ledger)
    relation_seconds: float = 0.0

    def tally(self, needs: frozenset[Signal], ledger: Ledger) -> Tally:
        """The cost with which an answer that needs these signals starts; it goes on in `ledger`."""
        tally = Tally(self.ledger)
        if needs & EVIDENCE:
            for prompt in document_prompts(self.snapshot):
                tally.charge_prompt(prompt, final=False)
        if Signal.RELATIONS in needs:
            tally.pairs.update(pairs_of(self))
            tally.relation_seconds = self.relation_seconds
        tally.ledger = ledger
        return tally

    def row(self, condition: str) -> EvidenceRow:
        """What is written down of it."""
        answers = self.answers if isinstance(self.answers, tuple) else ()
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
    ledger = Ledger()
    bare = [snapshot for snapshot, _ in snapshots]
    found = stages.gather(bare, lambda _: needs, models, ItemCosts(ledger))
    return [
        Gathered(g.snapshot, g.answers, g.relations, step, ledger, seconds_of(g, ledger))
        for g, (_, step) in zip(found, snapshots, strict=True)
    ]


def pairs_of(gathered: stages.Gathered) -> list[AnswerPair]:
    """The pairs that relating the answers asks for."""
    answers = gathered.answers if isinstance(gathered.answers, tuple) else ()
    return answer_pairs(gathered.snapshot.query.text, answers)


def seconds_of(gathered: stages.Gathered, ledger: Ledger) -> float:
    """What relating the answers took."""
    return sum(ledger.pair_seconds.get(pair, 0.0) for pair in pairs_of(gathered))


def rounded(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    """A matrix as rows of plain numbers."""
    return tuple(map(tuple, np.round(matrix, DECIMALS).tolist()))
