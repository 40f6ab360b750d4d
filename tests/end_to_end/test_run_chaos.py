"""What dies in a short run with real processes, and what chaos computes; `make chaos` does more."""

from collections import Counter, defaultdict
from pathlib import Path
from random import Random

import pytest

from tests.chaos import flink_run
from tests.chaos.__main__ import trials_of
from tests.chaos.dying_worker import POINTS
from tests.chaos.findings import out_of_order, repeated_calls
from tests.chaos.flink_promises import LATENESS_S, Size, disordered


@pytest.mark.long
@pytest.mark.parametrize("engine", ["noida", "kafka"])
def test_nothing_is_lost_whatever_dies(engine: str, tmp_path: Path) -> None:
    """One broker and SQLite; three nodes of Apache Kafka and PostgreSQL."""
    deaths, told = trials_of(engine)["deaths"], []
    if reason := deaths.needs():
        pytest.skip(reason)
    outcome, size = deaths.run(deaths.short, tmp_path, told.append), deaths.short
    figures, found = outcome.figures, outcome.figures["findings"]
    under = {"broker": size.broker_restarts, "PostgreSQL": size.database_restarts}
    expected = Counter(dict.fromkeys(POINTS, size.kills_per_point) | under)
    assert figures["kills"] == +expected, told
    assert found["sound"], outcome.record()
    assert found["repeated_publications"] > 0, "nothing was ever published again"
    assert found["calls_repeated_in_flight"] > 0, "no call was ever cut off"


@pytest.mark.long
def test_two_workers_on_every_partition_outlive_broker_and_database(tmp_path: Path) -> None:
    pair, told = trials_of("noida")["two workers"], []
    if reason := pair.needs():
        pytest.skip(reason)
    outcome = pair.run(pair.short, tmp_path, told.append)
    assert outcome.sound, (outcome.record(), told)


def test_disorder_stays_within_the_allowed_lateness_and_is_disorder() -> None:
    newest: dict[str, float] = defaultdict(lambda: float("-inf"))
    late = 0
    for snapshot in disordered(Size(), [f"cup-{n}" for n in range(8)]):
        time_s = snapshot.observed_at_ms / 1_000
        for query in (snapshot.query.id, "any"):
            assert time_s > newest[query] - LATENESS_S
        late += time_s < newest[snapshot.query.id]
        for query in (snapshot.query.id, "any"):
            newest[query] = max(newest[query], time_s)
    assert late > 50


@pytest.mark.parametrize("size", [flink_run.Size(), flink_run.SHORT])
def test_every_kill_on_flink_has_its_stage(size: flink_run.Size) -> None:
    drawn = flink_run.stages(size, Random(0))
    assert len(drawn) == len(size.parallelisms)
    names = ("task manager", "job manager", "Python worker", "worker pool")
    kills = (size.task_manager_kills, size.job_manager_kills, size.worker_kills, size.pool_kills)
    killed = Counter(kind for kinds in drawn for kind in kinds)
    assert killed == +Counter(dict(zip(names, kills, strict=True)))


@pytest.mark.parametrize(
    ("names", "wrong"),
    [("a/0 b/0 a/1 a/0 b/1", 0), ("a/1 a/0", 1), ("a/0 a/2 b/0", 1)],  # a repetition is none
)
def test_disorder_is_found(names: str, wrong: int) -> None:
    assert out_of_order(names.split()) == wrong


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ('[1, ["a"]] [1, ["b"]] [2, ["b", "c"]] [2, ["a"]]', (1, 1)),
        # Calls in flight when the database dies, which has no worker, may be repeated.
        ('[1, ["a"]] [1, ["b"]] [0, []] [1, ["c"]] [0, []] [1, ["a", "b", "c"]]', (1, 2)),
    ],
)
def test_calls_are_told_apart_by_what_was_in_flight(calls: str, found, tmp_path: Path) -> None:
    (tmp_path / "calls").write_text(calls.replace("] [", "]\n[") + "\n")
    assert repeated_calls(tmp_path / "calls") == found
