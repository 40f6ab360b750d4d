"""Documents are read in rank order in blocks, and only until the rule is met."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from radarstream.defenses.voices import Voices
from radarstream.pipelines.beam.folding import Parked, Recorded, gathered, outgoing
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.round.values import Concluded, Ready
from radarstream.pipelines.settings import ReadingSettings
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import ReasonClass
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.prompt import Task
from radarstream.schemas.records import RawRecord
from radarstream.schemas.snapshot import Labels, SearchSnapshot
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import Reason
from tests.builders import make_snapshot
from tests.scripted_models import scripted_models, tasks

CALM = ("Rome",) * 10
TORN = ("Rome", "Oslo") * 3 + ("Rome",) * 4
LATE = ("I don't know",) * 4 + ("Bern",) * 6


def snapshot(name: str, claims: Sequence[str]) -> SearchSnapshot:
    """Each claim on a site of its own, in a text of its own."""
    texts = [f"Page {rank}, {name}: {claim}." for rank, claim in enumerate(claims)]
    return make_snapshot(texts, question=f"Who won {name}?", query_id=name)


def pipeline_of(block: int = 3, unconfirmed: int = 1, **generator: Any) -> DefensePipeline[Any]:
    reading = ReadingSettings(block=block, unconfirmed=unconfirmed)
    return DefensePipeline("voices", Voices(), scripted_models(**generator), reading=reading)


def events_of(
    pipeline: DefensePipeline[Any], snapshots: Sequence[SearchSnapshot]
) -> list[AnswerEvent]:
    outcomes = pipeline.run([(one, pipeline.initial_memory()) for one in snapshots])
    assert all(isinstance(outcome, Concluded) for outcome in outcomes)
    return [outcome.event for outcome in outcomes if isinstance(outcome, Concluded)]


def test_no_more_is_read_than_the_rule_needs() -> None:
    pipeline = pipeline_of()
    (event,) = events_of(pipeline, [snapshot("a", CALM)])
    assert tasks(pipeline.models) == [(Task.ATOMIC_ANSWER, 3)]
    assert (event.answer, event.status) == ("Rome", AnswerStatus.CORROBORATED)
    assert [d.rank for d in event.verdict.documents] == list(range(1, 11))
    unread = [d.rank for d in event.verdict.documents if d.reason is Reason.NOT_READ]
    assert (unread, [d.rank for d in event.seen]) == (list(range(4, 11)), [1, 2, 3])
    assert len(outgoing(event, lane=0)) == 1  # the answer, and no rejected document
    assert not event.wanted_more


def test_more_is_read_before_an_answer_that_no_memory_confirms() -> None:
    """So that pages on the first ranks alone decide nothing."""
    lies = ("Bern", "Bern", "Bern")
    pipeline = pipeline_of(unconfirmed=5)
    first, memory = pipeline.answer(snapshot("a", lies + CALM), pipeline.initial_memory())
    assert (first.answer, len(first.seen)) == ("Rome", 9)  # 3 : 3 of the first 6 settles nothing
    event, _ = pipeline.answer(snapshot("a", CALM), memory)
    assert (event.answer, len(event.seen)) == ("Rome", 3)


def test_neither_the_order_in_which_documents_are_given_nor_labels_matter() -> None:
    pipeline, torn = pipeline_of(), snapshot("a", TORN)
    labels = Labels(answers=("Rome",), target="Oslo", attack="pia", poisoned_ranks=(1,))
    for other in (replace(torn, documents=torn.documents[::-1]), replace(torn, labels=labels)):
        assert events_of(pipeline, [other]) == events_of(pipeline, [torn])
        (ready,) = pipeline.gather([other])
        assert isinstance(ready, Ready) and "pia" not in repr(ready.evidence)


@pytest.mark.parametrize("claims", [CALM, TORN, LATE], ids=["calm", "torn", "late"])
def test_the_answer_does_not_depend_on_the_size_of_blocks(claims: tuple[str, ...]) -> None:
    events = [events_of(pipeline_of(block), [snapshot("a", claims)])[0] for block in (1, 3, 10)]
    assert len({(event.answer, event.status) for event in events}) == 1
    assert events[0].status is AnswerStatus.CORROBORATED
    depths = [len(event.seen) for event in events]
    assert depths == sorted(depths)


def test_a_model_that_fails_in_the_second_block_costs_only_that_snapshot() -> None:
    broken = ("Rome", "Oslo", "Bern", "Broken")
    given = enumerate([snapshot("a", TORN), snapshot("b", broken), snapshot("c", CALM)])
    records = [Recorded(RawRecord("file", n, encode(one)), one) for n, one in given]
    pipeline = pipeline_of(fail_on_text="Broken")
    first, failed, last = gathered(pipeline, records)
    assert isinstance(failed, Parked) and failed.record == records[1].record
    assert failed.letter.reason is ReasonClass.MODEL_UNAVAILABLE
    for record, made in ((records[0], first), (records[2], last)):
        assert isinstance(made, Recorded)
        (concluded,) = pipeline.conclude([(made.value, pipeline.initial_memory())])
        assert isinstance(concluded, Concluded)
        assert [concluded.event] == events_of(pipeline_of(), [record.value])


def test_a_new_answer_that_is_disputed_by_what_is_read_after_it_wants_more() -> None:
    pipeline = pipeline_of()
    known, disputed = snapshot("a", CALM), ("Bern",) * 3 + ("Oslo",) * 2
    before, memory = pipeline.answer(known, pipeline.initial_memory())
    event, _ = pipeline.answer(snapshot("a", disputed), memory)
    assert (before.wanted_more, event.answer, event.changed) == (False, "Bern", True)
    assert (len(event.seen), event.status) == (5, AnswerStatus.DISPUTED)
    assert event.wanted_more
