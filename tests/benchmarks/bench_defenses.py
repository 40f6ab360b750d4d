"""What each defence computes itself for one snapshot, without the models and the signals.

Its requests are fulfilled once by scripted models; what is timed is the defence alone, sent the
same responses again, in the second step of a history so that a memory takes part.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.defenses.protocol import Defense
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.pipelines.build import build_models
from radarstream.pipelines.guard import Guard
from radarstream.pipelines.settings import load_settings
from radarstream.pipelines.signals.fulfilment import fulfil
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.verdict import Verdict
from tests.benchmarks.bench_step import snapshot
from tests.benchmarks.figures import Figures
from tests.benchmarks.timing import interleaved

pytestmark = pytest.mark.bench

SNAPSHOTS = {10: 20, 50: 10}
WARM_UP = 2


@dataclass(frozen=True)
class Step:
    """One snapshot to judge again, with what the models said and what came of it."""

    evidence: Evidence
    state: Any
    responses: tuple[Any, ...]
    verdict: Verdict


@pytest.fixture
def models(tmp_path: Path) -> Iterator[Models]:
    database = f"sqlite:///{tmp_path / 'state.db'}"
    engine = open_engine(database)
    yield build_models(load_settings(profile="scripted", database=database), engine)
    engine.dispose()


def recorded(defense: Defense[Any], evidence: Evidence, state: Any, models: Models) -> Step:
    responses: list[Any] = []
    defending = defense.defend(evidence, state)
    try:
        request = next(defending)
        while True:
            responses.append(fulfil({0: request}, models)[0])
            request = defending.send(responses[-1])
    except StopIteration as stop:
        verdict, _ = stop.value
    return Step(evidence, state, tuple(responses), verdict)


def judged_again(defense: Defense[Any], step: Step) -> Verdict:
    defending = defense.defend(step.evidence, step.state)
    try:
        next(defending)
        for response in step.responses:
            defending.send(response)
    except StopIteration as stop:
        verdict, _ = stop.value
        return verdict
    raise AssertionError("the defence asked for more than when it was recorded")


def second_steps(name: str, k: int, models: Models) -> Sequence[Step]:
    """Different snapshots, each met with the memory of one before it."""
    guard = Guard(name, build_defense(name), models)
    before, *snapshots = (snapshot(k, step) for step in range(SNAPSHOTS[k] + 1))
    _, memory = guard.answer(before, guard.initial_memory())
    return [
        recorded(guard.defense, evidence, memory.state, models)
        for evidence in guard.gather(snapshots)
    ]


@pytest.mark.parametrize("k", SNAPSHOTS)
@pytest.mark.parametrize("name", sorted(DEFENSES))
def test_own_computation(figures: Figures, models: Models, name: str, k: int) -> None:
    defense = build_defense(name)
    steps = second_steps(name, k, models)
    contender = {name: lambda step: judged_again(defense, step)}
    interleaved(contender, steps[:WARM_UP])
    seconds = interleaved(contender, steps)[name]
    for step in steps:
        assert len(step.verdict.documents) == k
        assert judged_again(defense, step) == step.verdict
    figures.add(f"{name}, own computation, k={k}", seconds * 1e3, "ms per snapshot")
