"""What the chaos on Flink computes; `make chaos ENGINE=flink` runs it, which takes minutes."""

from collections import Counter, defaultdict
from random import Random

import numpy as np
import pytest

from tests.chaos.flink_checkpoints import Slope, slope_of
from tests.chaos.flink_promises import LATENESS_S, Size, disordered
from tests.chaos.flink_run import SHORT, stages
from tests.chaos.flink_run import Size as Chaos

MINUTES = np.arange(0.0, 50.0, 1 / 6)


@pytest.mark.parametrize("per_minute", [-40.0, 0.0, 40.0])
def test_the_interval_has_the_true_slope(per_minute: float) -> None:
    noise = np.random.default_rng(0).normal(0.0, 100.0, len(MINUTES))
    slope = slope_of(MINUTES, 5_000.0 + per_minute * MINUTES + noise)
    assert slope.low < per_minute < slope.high
    assert slope.high - slope.low < 10.0
    assert slope.grows is (per_minute > 0.0)


def test_sizes_that_wander_are_rarely_taken_for_growth() -> None:
    random = np.random.default_rng(0)
    grown = 0
    for _ in range(200):
        sizes = np.zeros(len(MINUTES))
        for n in range(1, len(sizes)):
            sizes[n] = 0.7 * sizes[n - 1] + random.normal()
        grown += slope_of(MINUTES, sizes).grows
    assert grown <= 12  # 5 expected


def test_sizes_that_never_change_do_not_grow() -> None:
    slope = slope_of(MINUTES, np.full(len(MINUTES), 390_906.0))
    assert slope == Slope(0.0, 0.0, 0.0)
    assert not slope.grows


def test_disorder_stays_within_the_allowed_lateness_and_is_disorder() -> None:
    newest: dict[str, float] = defaultdict(lambda: float("-inf"))
    late = 0
    for snapshot in disordered(Size(), [f"cup-{n}" for n in range(8)]):
        time_s = snapshot.observed_at_ms / 1_000
        for query in (snapshot.query.id, "any"):
            assert time_s > newest[query] - LATENESS_S
        late += time_s < newest[snapshot.query.id]
        newest[snapshot.query.id] = max(newest[snapshot.query.id], time_s)
        newest["any"] = max(newest["any"], time_s)
    assert late > 50


@pytest.mark.parametrize("size", [Chaos(), SHORT])
def test_every_kill_has_its_stage(size: Chaos) -> None:
    drawn = stages(size, Random(0))
    assert len(drawn) == len(size.parallelisms)
    assert (
        Counter(kind for kinds in drawn for kind in kinds)
        == Counter(
            {
                "task manager": size.task_manager_kills,
                "job manager": size.job_manager_kills,
                "Python worker": size.worker_kills,
                "worker pool": size.pool_kills,
            }
        )
        - Counter()
    )
