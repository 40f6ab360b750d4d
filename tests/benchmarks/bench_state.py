"""What the state table costs: bytes per query, rows loaded and commits per second."""

from itertools import count
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.connectors.state_table.queries.memory import (
    MemoryRow,
    commit_fold,
    load,
    row_bytes,
)
from radarstream.connectors.state_table.queries.outbox import pending
from radarstream.schemas.codec.state import encode_state
from radarstream.schemas.memory import Belief
from radarstream.schemas.records import Envelope, OutboxRecord
from tests.benchmarks.figures import Figures

pytestmark = pytest.mark.bench

QUERIES = 2_000
TARGET_BYTES = 300
BATCH = 500


def name_of(query: int) -> str:
    return f"q-{query * 0x9E3779B97F4A7C15 % 2**48:012x}"


def make_row(query: int, step: int = 1) -> MemoryRow:
    """A row of realistic lengths: hashed query id, Kafka cluster id, an answer of a few words.

    Ids come in no order, as hashes do, which leaves a database's pages partly filled.
    """
    belief = Belief("Paris Saint-Germain FC", 0.8421052631578947, 0.05263157894736842)
    return MemoryRow(
        query_id=name_of(query),
        defense="radar",
        step=step,
        as_of_ms=1_700_000_000_000 + step,
        log_epoch="MkU3OEVBNTcwNTJENDM2Qg",
        log_partition=3,
        log_offset=1_000_000 + step,
        state=encode_state(belief),
    )


def make_event(query: int, step: int) -> OutboxRecord:
    name = name_of(query)
    envelope = Envelope(
        f"{name}/{step}", "answer.defended", "urn:radarstream", name, "urn:radarstream:x:1"
    )
    return OutboxRecord("answers.defended", envelope, b"x" * 4_000)


def test_bytes_per_query(benchmark, figures, engine, tmp_path):
    def database_bytes() -> int:
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
        return (tmp_path / "state.db").stat().st_size

    empty = database_bytes()
    for query in range(QUERIES):
        commit_fold(engine, None, make_row(query))
    on_disk = (database_bytes() - empty) / QUERIES
    in_row = max(row_bytes(make_row(query)) for query in range(QUERIES))
    figures.add("memory row, Kafka source", in_row, "bytes per query", ("<", TARGET_BYTES))
    figures.add("memory in SQLite, on disk", on_disk, "bytes per query", ("<", TARGET_BYTES))
    rows = benchmark(load, engine, [make_row(query).query_id for query in range(BATCH)])
    figures.add("memory rows loaded", BATCH / benchmark.stats["median"], "per second")
    assert len(rows) == BATCH
    assert in_row < TARGET_BYTES
    assert on_disk < TARGET_BYTES


def test_fold_commits(benchmark: BenchmarkFixture, figures: Figures, tmp_path: Path) -> None:
    """One fold with one answer of 4 kB."""
    engine = open_engine(f"sqlite:///{tmp_path / 'state.db'}")
    steps = count(2)
    row = commit_fold(engine, None, make_row(0))

    def fold() -> None:
        nonlocal row
        step = next(steps)
        row = commit_fold(engine, row, make_row(0, step), [make_event(0, step)])

    benchmark.pedantic(fold, rounds=1_000, warmup_rounds=20)
    figures.add("commits, SQLite", 1 / benchmark.stats["median"], "per second")
    assert load(engine, [row.query_id]) == {row.query_id: row}
    assert len(pending(engine, 10_000)) == 1_020
    engine.dispose()
