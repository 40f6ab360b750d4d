"""Rerankers by their specs, their thresholds, and their application to pools as in production."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from radarstream.defenses.protocol import RetrievalDefense
from radarstream.defenses.registry import RERANKERS, build_defense, build_reranker
from radarstream.lab.retrieval.records import GuardedRow, RerankingRow
from radarstream.lab.study.costs import ItemCosts, Ledger, Spending
from radarstream.lab.study.rows import error_words
from radarstream.lab.study.scoring import is_correct
from radarstream.lab.study.specs import ALL, Spec, expanded, parse_specs, servable
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.fulfilment import Failure, check_needs
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import rerank
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import SearchSnapshot

REFERENCE = "none"  # what every other reranker is compared with
PAIRS = 1_000  # of a question and a document that answers it, at most (GMTP, section 5)


def reranker_of(spec: Spec) -> RetrievalDefense:
    """Raises ConfigurationError for an unknown method, and for options that it refuses."""
    return build_reranker(spec.method, dict(spec.options))


def parse_rerankers(text: str) -> tuple[Spec, ...]:
    """Read a list such as `gmtp,prog_rank:gate_temperature=0.1`; `all` stands for every method.
    `none` comes first and is never left out. Raises ConfigurationError for an empty list, for what
    cannot be read and for options that a method refuses.

    >>> [spec.name for spec in parse_rerankers("none")]
    ['none']
    """
    if not expanded(text, {}):
        raise ConfigurationError(
            f"no reranker is named; there are {', '.join(RERANKERS)}, and {ALL} for every one"
        )
    return parse_specs(text, reranker_of, {ALL: RERANKERS}, [REFERENCE])


def served(
    specs: Sequence[Spec], build: Callable[[frozenset[str]], Models], insisted: str
) -> tuple[tuple[Spec, ...], Models, tuple[str, ...]]:
    """The rerankers that models can serve, these models, and notes on those left out. `build` makes
    the models that answer some needs. Raises ConfigurationError for a reranker that `insisted`, the
    list it came from, names by itself.
    """

    def check(spec: Spec) -> None:
        method = reranker_of(spec)
        check_needs(method, build(method.needs))

    kept, notes = servable(specs, check, insisted)
    needs = frozenset[str]().union(*(reranker_of(spec).needs for spec in kept))
    return kept, build(needs), notes


def relevant_pairs(tuning: Sequence[SearchSnapshot], seed: int) -> list[tuple[str, str]]:
    """At most `PAIRS` pairs of a question and a passage of its own documents that names a right
    answer, drawn by the seed, in order.
    """
    pairs = [
        (snapshot.query.text, document.passage)
        for snapshot in tuning
        if snapshot.labels and snapshot.labels.answers
        for document in snapshot.documents
        if is_correct(document.passage, snapshot.labels)
    ]
    rng = np.random.default_rng(seed)
    drawn = sorted(rng.choice(len(pairs), min(PAIRS, len(pairs)), replace=False))
    return [pairs[place] for place in drawn]


def orders(
    bare: RerankingRow,
    method: RetrievalDefense,
    keep: int,
    ledger: Ledger,
    snapshots: Sequence[SearchSnapshot],
    models: Models,
) -> list[RerankingRow]:
    """What a reranker that keeps so many makes of snapshots, whose documents are a pool, one row
    each as `bare` begins it, in one model batch. `ledger` notes what queries cost; rerankers that
    ask the same models share one, since the cache answers them together.
    """
    tallies = [Spending(ledger) for _ in snapshots]
    outcomes = rerank(method, keep, snapshots, models, ItemCosts(ledger, tallies))
    rows = []
    for snapshot, outcome, tally in zip(snapshots, outcomes, tallies, strict=True):
        row = replace(bare, query_id=snapshot.query.id)
        if isinstance(outcome, Failure):
            rows.append(replace(row, error=error_words(outcome)))
            continue
        assert outcome.reranking is not None
        rows.append(replace(row, candidates=outcome.reranking.candidates, cost=tally.cost()))
    return rows


def behind(before: str, reranker: str) -> Spec:
    """A defence behind a reranker, as a method of its own. Raises ConfigurationError."""
    build_defense(before)
    return Spec(f"{before} behind {reranker}", before, how=reranker)


def answered(
    method: Spec,
    condition: str,
    snapshots: Sequence[SearchSnapshot],
    reading: ReadingSettings,
    models: Models,
) -> list[GuardedRow]:
    """What a defence answers from what the reranker before it kept."""
    defence = build_defense(method.method)
    pipeline = DefensePipeline(method.method, defence, models, reading=reading)
    memory = pipeline.initial_memory()
    outcomes = pipeline.run([(snapshot, memory) for snapshot in snapshots])
    rows = []
    for snapshot, outcome in zip(snapshots, outcomes, strict=True):
        row = GuardedRow(contender=method.name, condition=condition, query_id=snapshot.query.id)
        if isinstance(outcome, Failure):
            rows.append(replace(row, error=error_words(outcome)))
        else:
            event = outcome.event
            rows.append(replace(row, answer=None if event.abstention else event.answer))
    return rows
