"""The evidence that all contenders share: gathered once per snapshot and condition."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from radarstream.defenses.protocol import EVIDENCE, Signal
from radarstream.pipelines import stages
from radarstream.pipelines.evaluation.costs import ItemCosts, Ledger
from radarstream.pipelines.evaluation.defences.counting import Tally
from radarstream.pipelines.evaluation.defences.records import EvidenceRow
from radarstream.pipelines.evaluation.study.record import WAYS_OUT, shown
from radarstream.pipelines.signals.atomic_answers import document_prompts
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.relations import answer_pairs
from radarstream.schemas.errors import ConfigurationError
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
            tally.seconds["relation_seconds"] = self.relation_seconds
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
    gathered = []
    for found, (_, step) in zip(
        stages.gather(bare, lambda _: needs, models, ItemCosts(ledger)), snapshots, strict=True
    ):
        seconds = sum(ledger.pair_seconds.get(pair, 0.0) for pair in pairs_of(found))
        gathered.append(
            Gathered(found.snapshot, found.answers, found.relations, step, ledger, seconds)
        )
    return gathered


def pairs_of(gathered: stages.Gathered) -> list[AnswerPair]:
    """The pairs that relating the answers asks for."""
    answers = gathered.answers if isinstance(gathered.answers, tuple) else ()
    return answer_pairs(gathered.snapshot.query.text, answers)


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
                f"{stored.query_id}, step {stored.step}: {what}: {shown(seen.get(what))!r} there, "
                f"{shown(now.get(what))!r} here. {WAYS_OUT}"
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
