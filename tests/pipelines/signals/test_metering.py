"""The meter: what each stage asked of the models."""

import pytest

from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import (
    ScriptedEmbedder,
    ScriptedGenerator,
    ScriptedRelations,
)
from radarstream.connectors.state_table.database.engine import open_engine
from radarstream.pipelines.signals.metering import CallCounts, Meter
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.prompt import Task


class Counter:
    def __init__(self) -> None:
        self.calls = 5
        self.hits = 7


def test_a_stage_is_charged_what_was_asked_inside_it() -> None:
    meter, model, other = Meter(), Counter(), Counter()
    with meter.stage("atomic answers", model):
        model.calls += 2
        model.hits += 1
        other.calls += 100
    model.calls += 50
    with meter.stage("relations", model, other):
        other.calls += 3
    with meter.stage("atomic answers", model):
        model.calls += 1
    totals = {name: (t.calls, t.hits) for name, t in meter.stages.items()}
    assert totals == {"atomic answers": (3, 1), "relations": (3, 0)}
    assert list(meter.stages) == ["atomic answers", "relations"]


def test_a_stage_that_fails_is_charged_too() -> None:
    meter, model = Meter(), Counter()
    with pytest.raises(KeyError), meter.stage("defence", model):
        model.calls += 1
        raise KeyError
    assert meter.stages["defence"].calls == 1
    assert meter.stages["defence"].seconds >= 0.0


@pytest.mark.parametrize("model", [ScriptedGenerator(), ScriptedRelations(), ScriptedEmbedder()])
def test_a_model_that_does_not_count_is_not_charged(model: object) -> None:
    assert not isinstance(model, CallCounts)
    meter = Meter()
    with meter.stage("defence", model):
        pass
    assert (meter.stages["defence"].calls, meter.stages["defence"].hits) == (0, 0)


def test_the_cache_s_counts_are_charged(tmp_path) -> None:
    cache = ResponseCache(open_engine(f"sqlite:///{tmp_path / 'state.db'}"))
    model = Cached(ScriptedGenerator(), cache)
    meter = Meter()
    prompts = [build_prompt(Task.ATOMIC_ANSWER, "Who?", (f"passage {n}",)) for n in range(3)]
    with meter.stage("first", model):
        model.complete([*prompts, prompts[0]])
    with meter.stage("again", model):
        model.complete(prompts)
    assert [(t.calls, t.hits) for t in meter.stages.values()] == [(3, 1), (0, 3)]
