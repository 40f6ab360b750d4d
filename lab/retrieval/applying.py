"""Rerankers on pools, and defences on what rerankers keep: the stages that production runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from radarstream.defenses.protocol import RetrievalDefense
from radarstream.defenses.registry import build_defense
from radarstream.lab.retrieval.rows import GuardedRow, RerankingRow, both
from radarstream.lab.study.costs import ItemCosts, Ledger, Spending
from radarstream.lab.study.rows import error_words
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import rerank
from radarstream.schemas.snapshot import SearchSnapshot


@dataclass(frozen=True)
class Reranker:
    """A reranker under its name, which keeps so many candidates; `ledger` notes what queries cost.

    Rerankers that ask the same models share a ledger, since the cache answers them together.
    """

    name: str
    method: RetrievalDefense
    keep: int
    ledger: Ledger

    def rerank(
        self, condition: str, snapshots: Sequence[SearchSnapshot], models: Models
    ) -> list[RerankingRow]:
        """One row per snapshot, whose documents are a pool; in one model batch."""
        tallies = [Spending(self.ledger) for _ in snapshots]
        costs = ItemCosts(self.ledger, tallies)
        outcomes = rerank(self.method, self.keep, snapshots, models, costs)
        rows = []
        for snapshot, outcome, tally in zip(snapshots, outcomes, tallies, strict=True):
            row = RerankingRow(contender=self.name, condition=condition, query_id=snapshot.query.id)
            if isinstance(outcome, Failure):
                rows.append(replace(row, error=error_words(outcome)))
                continue
            assert outcome.reranking is not None
            candidates = outcome.reranking.candidates
            rows.append(replace(row, candidates=candidates, cost=tally.cost()))
        return rows


def answered(
    behind: str,
    before: str,
    condition: str,
    snapshots: Sequence[SearchSnapshot],
    reading: ReadingSettings,
    models: Models,
) -> list[GuardedRow]:
    """What the defence `before` which the reranker `behind` stands answers from what was kept."""
    pipeline = DefensePipeline(before, build_defense(before), models, reading=reading)
    memory = pipeline.initial_memory()
    outcomes = pipeline.run([(snapshot, memory) for snapshot in snapshots])
    rows = []
    for snapshot, outcome in zip(snapshots, outcomes, strict=True):
        row = GuardedRow(
            contender=both(before, behind),
            condition=condition,
            query_id=snapshot.query.id,
            behind=behind,
            before=before,
        )
        if isinstance(outcome, Failure):
            rows.append(replace(row, error=error_words(outcome)))
        else:
            event = outcome.event
            rows.append(replace(row, answer=None if event.abstention else event.answer))
    return rows
