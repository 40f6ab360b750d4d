"""How far snapshots are read: few pages where sites agree, all where the answer is a new one."""

from dataclasses import replace
from datetime import timedelta

from radarstream.defenses.registry import build_defense
from radarstream.lab.defences.trials import Trial, gather
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import ReadingSettings
from radarstream.schemas.verdict import Reason
from tests.builders import OBSERVED_AT, make_snapshot
from tests.scripted_models import scripted_models

LIES = ["Bern", "Bern"]
TRUE, MOVED = ["Rome"] * 6, ["Bern"] * 6


def history(*steps):
    return [
        make_snapshot(
            [f"Page {n} of {step} in {n} words: {said}." for n, said in enumerate(winners)],
            observed_at=OBSERVED_AT + timedelta(days=step),
        )
        for step, winners in enumerate(steps)
    ]


def read(verdict):
    return sum(document.reason is not Reason.NOT_READ for document in verdict.documents)


def test_an_answer_that_differs_from_the_last_is_given_after_everything_was_read():
    steps = history(TRUE, LIES + TRUE, TRUE, MOVED)
    models, defense = scripted_models(), build_defense("voices")
    pipeline = DefensePipeline(
        "voices", defense, models, reading=ReadingSettings(block=2, unconfirmed=1)
    )
    memory, events = pipeline.initial_memory(), []
    for snapshot in steps:
        event, memory = pipeline.answer(snapshot, memory)
        events.append(event)
    assert [event.answer for event in events] == ["Rome", "Rome", "Rome", "Bern"]
    assert [read(event.verdict) for event in events] == [2, 8, 2, 6]

    seen = gather(list(zip(steps, range(4), strict=True)), defense.needs, pipeline.reading, models)
    trial = Trial("voices", "benign", defense, models, reading=pipeline.reading)
    rows = [row for rows in trial.rows([seen], batch=2) for row in rows]
    assert [row.verdict for row in rows] == [event.verdict for event in events]
    assert [row.cost.calls for row in rows] == [2, 8, 2, 6]

    fewer = replace(pipeline, reading=ReadingSettings(block=2, unconfirmed=1, most_documents=3))
    event, _ = fewer.answer(steps[1], replace(memory, state=replace(memory.state, answer="Rome")))
    assert (event.answer, read(event.verdict)) == ("Bern", 3)
