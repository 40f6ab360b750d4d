"""The meter: what each stage asked of the models."""

from radarstream.pipelines.signals.metering import Meter


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
