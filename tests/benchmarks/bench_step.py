"""One step of one query without its models: evidence in, memory and outgoing events out.

The models are scripted, so what they cost is small and what remains is the defence's decision, the
encoding of its events and the commit. There is no undefended answer to compare with.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
)
from radarstream.connectors.state_table.queries.memory import load, row_bytes
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.defenses.voices import Voices
from radarstream.pipelines.beam.folding import Item, Recorded, fold_queries, outgoing
from radarstream.pipelines.build import build_defense_pipeline
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Concluded
from radarstream.pipelines.settings import ReadingSettings, load_settings
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.codec import encode_state
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.memory import Belief, Memory
from radarstream.schemas.records import OutboxRecord, RawRecord
from radarstream.schemas.snapshot import Document, Provenance, Query, SearchSnapshot
from radarstream.schemas.verdict import MemoryDecision
from tests.benchmarks.figures import Figures
from tests.benchmarks.timing import interleaved

pytestmark = pytest.mark.bench

STEPS = {10: 300, 50: 120}
WARM_UP = 5
TARGET_MS = {50: 5.0}
TARGET_BYTES = 300
QUERY = Query.from_text("Which team won the cup?")
LOG_EPOCH = "MkU3OEVBNTcwNTJENDM2Qg"  # as long as the id of a Kafka cluster
START = datetime(2025, 6, 1, tzinfo=UTC)


def claim(index: int) -> str:
    """Of every ten documents five say the truth, three a falsehood and two something of their own.

    The last two repeat after ten documents, as stray claims do.
    """
    return (["Port Albern Rovers"] * 5 + ["Greyfield City"] * 3 + ["Elm United", "Dale Park"])[
        (index * 7) % 10
    ]


def snapshot(k: int, step: int, query: Query = QUERY) -> SearchSnapshot:
    documents = tuple(
        Document(
            rank,
            f"after extra time {claim(rank + step)} won the cup, report {rank} of {step}.",
            title="the final",
            url=f"https://news-{rank}.example/{step}",
        )
        for rank in range(1, k + 1)
    )
    return SearchSnapshot(query, START + timedelta(days=step), documents, Provenance.SIMULATED)


def scripted_guard() -> DefensePipeline[Belief | None]:
    models = Models(ScriptedGenerator(), ScriptedRelations(), ScriptedEmbedder())
    return DefensePipeline("voices", Voices(), models, reading=ReadingSettings(block=50))


def readies(
    guard: DefensePipeline[Belief | None], snapshots: Sequence[SearchSnapshot]
) -> list[Item]:
    return [
        Recorded(RawRecord("history", position, b""), found)
        for position, found in enumerate(guard.gather(snapshots))
    ]


class InMemory:
    """Folds one query's snapshots and keeps what a state table would."""

    def __init__(self, guard: DefensePipeline[Belief | None]) -> None:
        self.guard = guard
        self.memory: Memory[Belief | None] = guard.initial_memory()
        self.state = b""
        self.events: list[AnswerEvent] = []
        self.records: list[OutboxRecord] = []

    def decide(self, ready: Item) -> tuple[AnswerEvent, Memory[Belief | None]]:
        (outcome,) = self.guard.conclude([(ready.value, self.memory)])
        assert isinstance(outcome, Concluded)
        return outcome.event, outcome.memory

    def fold(self, ready: Item) -> None:
        event, self.memory = self.decide(ready)
        self.state = encode_state(self.memory.state, self.memory.standing)
        self.records.extend(outgoing(event, 0))
        self.events.append(event)


@pytest.mark.parametrize("k", STEPS)
def test_whole_step(figures: Figures, engine: Engine, k: int) -> None:
    guard = scripted_guard()
    steps = readies(guard, [snapshot(k, step) for step in range(STEPS[k])])
    in_memory = InMemory(guard)

    def fold_and_commit(ready: Item) -> None:
        (_,) = fold_queries(guard, engine, {QUERY.id: [ready]}, LOG_EPOCH)

    contenders = {
        "decision": in_memory.decide,
        "in memory": in_memory.fold,
        "committed": fold_and_commit,
    }
    interleaved(contenders, steps[:WARM_UP])
    seconds = interleaved(contenders, steps[WARM_UP:])

    check_steps(in_memory, k)
    row = load(engine, [QUERY.id])[QUERY.id]
    assert (row.step, row.state) == (STEPS[k], in_memory.state)
    assert [p.record for p in pending(engine, 100_000)] == in_memory.records
    target = ("<", TARGET_MS[k]) if k in TARGET_MS else None
    figures.add(f"step, k={k}, decision", seconds["decision"] * 1e3, "ms")
    figures.add(f"step, k={k}, decision and events", seconds["in memory"] * 1e3, "ms", target)
    figures.add(f"step, k={k}, with SQLite commit", seconds["committed"] * 1e3, "ms")
    figures.add(f"memory row, k={k}", row_bytes(row), "bytes per query", ("<", TARGET_BYTES))
    assert row_bytes(row) < TARGET_BYTES


def check_steps(folded: InMemory, k: int) -> None:
    """What was timed are full steps: all documents judged, some rejected, the memory among them."""
    assert {event.answer for event in folded.events} == {"Port Albern Rovers"}
    for event in folded.events[1:]:
        assert event.verdict.memory.decision is MemoryDecision.RETAINED
        assert len(event.verdict.documents) == k
        assert len(event.verdict.kept_ranks) == k // 2
    assert len(folded.records) == len(folded.events) * (1 + k // 2)


def requests_to_models(guard: DefensePipeline[Any]) -> int:
    models: tuple[Any, ...] = (
        guard.models.generator,
        guard.models.relations,
        guard.models.embedder,
    )
    return sum(model.calls for model in models)


def test_a_second_pass_asks_no_model(figures: Figures, engine: Engine) -> None:
    """Two passes over the same snapshots, each by a guard of its own, sharing the database."""
    settings = load_settings(profile="scripted", database=str(engine.url))
    snapshots = [snapshot(10, step) for step in range(20)]
    passes = []
    for _ in range(2):
        guard = build_defense_pipeline(settings, engine)
        folded = InMemory(guard)
        for ready in readies(guard, snapshots):
            folded.fold(ready)
        passes.append((requests_to_models(guard), folded.events))
    (first, events), (second, repeated) = passes
    figures.add("requests to models, first pass over 200 pages", first, "requests")
    figures.add("requests to models, second pass", second, "requests", ("=", 0))
    assert first >= 200
    assert second == 0
    assert repeated == events
