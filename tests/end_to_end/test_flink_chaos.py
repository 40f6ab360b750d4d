"""What the chaos on Flink computes; `make chaos ENGINE=flink` runs it, which takes minutes."""

from collections import Counter, defaultdict
from random import Random

import pytest

from tests.chaos.flink_promises import LATENESS_S, Size, disordered
from tests.chaos.flink_run import SHORT, stages
from tests.chaos.flink_run import Size as Chaos


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
    names = ("task manager", "job manager", "Python worker", "worker pool")
    kills = (size.task_manager_kills, size.job_manager_kills, size.worker_kills, size.pool_kills)
    killed = Counter(kind for kinds in drawn for kind in kinds)
    assert killed == +Counter(dict(zip(names, kills, strict=True)))
