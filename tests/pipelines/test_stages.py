"""The stages as functions over lists: failures, needs, forms and costs belong to single items."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.defenses.protocol import EVIDENCE, Complete, Request, Signal
from radarstream.defenses.radar import Radar
from radarstream.defenses.vanilla import Vanilla
from radarstream.pipelines import stages
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.metering import Meter
from radarstream.pipelines.signals.ports import Models
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import Evidence, Relations
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import LONG_FORM, SearchSnapshot
from tests.builders import make_snapshot
from tests.scripted_models import scripted_models, tasks

NOTHING: frozenset[Signal] = frozenset()
READING = ReadingSettings()


def snapshot(name: str, *winners: str, long: bool = False) -> SearchSnapshot:
    made = make_snapshot(
        [f"The winner of {name}: {winner}." for winner in winners],
        question=f"Who won {name}?",
        query_id=name,
    )
    return replace(made, query=replace(made.query, tags=(LONG_FORM,) if long else ()))


def everything(_: SearchSnapshot) -> frozenset[Signal]:
    return EVIDENCE


def gathered(snapshots: Sequence[SearchSnapshot], models: Models) -> list[Evidence | ModelError]:
    found = stages.gather(snapshots, everything, READING, models, Meter())
    return [item.evidence(EVIDENCE) for item in found]


def test_an_item_that_fails_is_its_error_and_keeps_its_place() -> None:
    models = scripted_models(fail_on_text="Broken")
    snapshots = [snapshot("a", "Rome"), snapshot("b", "Broken"), snapshot("c", "Bern", "Bern")]
    first, failed, last = evidences = gathered(snapshots, models)
    assert isinstance(first, Evidence) and first.query.id == "a"
    assert isinstance(failed, ModelError)
    assert isinstance(last, Evidence) and last.query.id == "c"
    decisions = stages.decide(Radar(), [(e, None) for e in evidences], models, Meter())
    assert decisions[1] is failed
    answers = [d.verdict.answer for d in decisions if isinstance(d, stages.Decided)]
    assert answers == ["Rome", "Bern"]
    undefended = stages.undefended_answers(Vanilla(), evidences, models, Meter())
    assert undefended == ["Rome", None, "Bern"]


def test_only_what_a_snapshot_needs_is_asked() -> None:
    models = scripted_models()
    needs = {
        "a": frozenset({Signal.ATOMIC_ANSWERS}),
        "b": NOTHING,
        "c": frozenset({Signal.RELATIONS}),
    }
    snapshots = [snapshot(name, "Rome", "Oslo") for name in needs]
    found = stages.gather(snapshots, lambda s: needs[s.query.id], READING, models, Meter())
    assert [item.answers is None for item in found] == [False, True, False]
    assert [isinstance(item.relations, Relations) for item in found] == [False, False, True]
    assert tasks(models) == [(Task.ATOMIC_ANSWER, 4)]
    bare = found[2].evidence(frozenset({Signal.ATOMIC_ANSWERS}))
    assert isinstance(bare, Evidence) and bare.relations is None


def test_nothing_needed_asks_and_meters_nothing() -> None:
    models, meter = scripted_models(), Meter()
    found = stages.gather([snapshot("a", "Rome")], lambda _: NOTHING, READING, models, meter)
    assert found[0].answers is None and found[0].relations is None
    assert meter.stages == {} and tasks(models) == []


def test_long_and_short_answers_may_come_in_one_list() -> None:
    models = scripted_models()
    snapshots = [
        snapshot("a", "Rome", long=True),
        snapshot("b", "Oslo"),
        snapshot("c", "Bern", long=True),
    ]
    evidences = gathered(snapshots, models)
    assert tasks(models) == [(Task.ATOMIC_ANSWER, 1), (Task.DESCRIBE_FROM_PASSAGE, 2)]
    assert [e.query.id for e in evidences if isinstance(e, Evidence)] == ["a", "b", "c"]
    log = models.generator.log  # type: ignore[attr-defined]
    log.clear()
    decisions = stages.decide(Vanilla(), [(e, None) for e in evidences], models, Meter())
    assert [d.verdict.answer for d in decisions if isinstance(d, stages.Decided)] == [
        "Rome",
        "Oslo",
        "Bern",
    ]
    assert tasks(models) == [(Task.ANSWER_FROM_DOCUMENTS, 1), (Task.DESCRIBE_FROM_DOCUMENTS, 2)]


@dataclass
class Noting(Meter):
    """Costs that note what each item asks and which models are handed out."""

    asked: dict[int, list[str]] = field(default_factory=dict)
    given: list[Models] = field(default_factory=list)

    def around(self, models: Models) -> Models:
        self.given.append(models)
        return models

    def charged(
        self, place: int, asking: Generator[Request, Any, Any]
    ) -> Generator[Request, Any, Any]:
        request = next(asking)
        while True:
            assert isinstance(request, Complete)
            self.asked.setdefault(place, []).append(request.question)
            try:
                request = asking.send((yield request))
            except StopIteration as stop:
                return stop.value


def test_costs_hear_which_item_asks_whatever_its_form() -> None:
    models, costs = scripted_models(fail_on_text="Broken"), Noting()
    snapshots = [
        snapshot("a", "Rome", long=True),
        snapshot("b", "Broken"),
        snapshot("c", "Oslo"),
        snapshot("d", "Bern", long=True),
    ]
    evidences = gathered(snapshots, models)
    stages.decide(Vanilla(), [(e, None) for e in evidences], models, costs)
    assert costs.asked == {0: ["Who won a?"], 2: ["Who won c?"], 3: ["Who won d?"]}
    short, long = costs.given
    assert isinstance(short.generator, ScriptedGenerator)
    assert not isinstance(long.generator, ScriptedGenerator)
    assert costs.stages["defence"].records == 4
