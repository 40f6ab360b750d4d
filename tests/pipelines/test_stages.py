"""The stages as functions over lists: failures, needs, forms and costs belong to single items."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.defenses.protocol import EVIDENCE, Complete, Request, Signal
from radarstream.defenses.radar import Radar
from radarstream.defenses.vanilla import Vanilla
from radarstream.pipelines.round.deciding import decide, undefended_answers
from radarstream.pipelines.round.gathering import ReadingPlan, gather
from radarstream.pipelines.round.values import Chosen, Decided, Needs, Ready
from radarstream.pipelines.settings import ReadingSettings
from radarstream.pipelines.signals.fulfilment import Failure
from radarstream.pipelines.signals.metering import Meter
from radarstream.pipelines.signals.ports import Models
from radarstream.pipelines.signals.reranking import Reranked
from radarstream.schemas.errors import ModelError
from radarstream.schemas.evidence import Evidence
from radarstream.schemas.prompt import Task
from radarstream.schemas.snapshot import LONG_FORM, Query, SearchSnapshot
from tests.builders import make_snapshot
from tests.scripted_models import scripted_models, tasks

NOTHING: frozenset[Signal] = frozenset()


def no_rule(_: Query) -> int | None:
    return None


def snapshot(name: str, *winners: str, long: bool = False) -> SearchSnapshot:
    made = make_snapshot(
        [f"The winner of {name}: {winner}." for winner in winners],
        question=f"Who won {name}?",
        query_id=name,
    )
    return replace(made, query=replace(made.query, tags=(LONG_FORM,) if long else ()))


def gathered(
    snapshots: Sequence[SearchSnapshot],
    models: Models,
    meter: Meter | None = None,
    needs: Needs = lambda _: EVIDENCE,
) -> list[Ready | Failure]:
    chosen = [Chosen(Reranked(s)) for s in snapshots]
    return gather(chosen, ReadingPlan(needs, None, ReadingSettings()), models, meter or Meter())


def evidence_of(items: Sequence[Ready | Failure]) -> list[Evidence]:
    return [item.evidence for item in items if isinstance(item, Ready)]


def test_an_item_that_fails_is_its_error_and_keeps_its_place() -> None:
    models = scripted_models(fail_on_text="Broken")
    snapshots = [snapshot("a", "Rome"), snapshot("b", "Broken"), snapshot("c", "Bern", "Bern")]
    first, failed, last = found = gathered(snapshots, models)
    assert isinstance(first, Ready) and first.evidence.query.id == "a"
    assert isinstance(failed, ModelError)
    assert isinstance(last, Ready) and last.evidence.query.id == "c"
    evidences = evidence_of(found)
    decisions = decide(Radar(), [(e, None) for e in evidences], models, Meter(), no_rule)
    assert [d.verdict.answer for d in decisions if isinstance(d, Decided)] == ["Rome", "Bern"]
    undefended = undefended_answers(Vanilla(), evidences, models, Meter())
    assert undefended == ["Rome", "Bern"]


def test_only_what_a_snapshot_needs_is_asked() -> None:
    models = scripted_models()
    needs = {
        "a": frozenset({Signal.ATOMIC_ANSWERS}),
        "b": NOTHING,
        "c": frozenset({Signal.RELATIONS}),
    }
    snapshots = [snapshot(name, "Rome", "Oslo") for name in needs]
    found = evidence_of(gathered(snapshots, models, needs=lambda e: needs[e.query.id]))
    assert [evidence.answers is None for evidence in found] == [False, True, False]
    assert [evidence.relations is None for evidence in found] == [True, True, False]
    assert tasks(models) == [(Task.ATOMIC_ANSWER, 4)]


def test_nothing_needed_asks_and_meters_nothing() -> None:
    models, meter = scripted_models(), Meter()
    (found,) = evidence_of(gathered([snapshot("a", "Rome")], models, meter, lambda _: NOTHING))
    assert found.answers is None and found.relations is None
    assert meter.stages == {} and tasks(models) == []


def test_long_and_short_answers_may_come_in_one_list() -> None:
    models = scripted_models()
    snapshots = [
        snapshot("a", "Rome", long=True),
        snapshot("b", "Oslo"),
        snapshot("c", "Bern", long=True),
    ]
    evidences = evidence_of(gathered(snapshots, models))
    assert tasks(models) == [(Task.ATOMIC_ANSWER, 1), (Task.DESCRIBE_FROM_PASSAGE, 2)]
    assert [e.query.id for e in evidences] == ["a", "b", "c"]
    log = models.generator.log  # type: ignore[attr-defined]
    log.clear()
    decisions = decide(Vanilla(), [(e, None) for e in evidences], models, Meter(), no_rule)
    assert [d.verdict.answer for d in decisions if isinstance(d, Decided)] == [
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
    evidences = evidence_of(gathered(snapshots, models))
    decide(Vanilla(), [(e, None) for e in evidences], models, costs, no_rule)
    assert costs.asked == {0: ["Who won a?"], 1: ["Who won c?"], 2: ["Who won d?"]}
    short, long = costs.given
    assert isinstance(short.generator, ScriptedGenerator)
    assert not isinstance(long.generator, ScriptedGenerator)
    assert costs.stages["defence"].records == 3
