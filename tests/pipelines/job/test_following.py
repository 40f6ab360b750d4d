"""What a consumer sees of an at-least-once topic: every event once, in order, if it is wanted."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.job.alerting.alerts import ANSWERS, ATTRIBUTIONS, Following, Selection
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import InputError
from radarstream.schemas.events import AnswerEvent, RejectedEvent
from tests.wire_samples import ANSWER, REJECTED

HOUR = timedelta(hours=1)


def answer(query_id: str = "cup", step: int = 0, hours: int | None = None, **fields) -> AnswerEvent:
    moment = ANSWER.observed_at + (step if hours is None else hours) * HOUR
    return replace(ANSWER, query_id=query_id, step=step, observed_at=moment, **fields)


def attribution(query_id: str, step: int, rank: int) -> RejectedEvent:
    moment = ANSWER.observed_at + step * HOUR
    return replace(REJECTED, query_id=query_id, step=step, rank=rank, observed_at=moment)


def seen(events) -> list:
    following = Following(Selection())
    topics = {AnswerEvent: ANSWERS, RejectedEvent: ATTRIBUTIONS}
    shown = [following.event(topics[type(event)], encode(event)) for event in events]
    return [event for event in shown if event is not None]


@given(
    st.lists(st.sampled_from("abc"), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 10)), max_size=6),
)
def test_repeated_tails_are_dropped(queries: list[str], crashes: list[tuple[int, int]]) -> None:
    """A crash repeats the last events that were published before it, in their order."""
    steps = dict.fromkeys("abc", 0)
    originals = []
    for query_id in queries:
        originals += [answer(query_id, steps[query_id])]
        originals += [attribution(query_id, steps[query_id], rank) for rank in (2, 5)]
        steps[query_id] += 1
    log, sent = [], 0
    for at, again in sorted(crashes):
        reached = min(max(at, sent), len(originals))
        log += originals[sent:reached]
        sent = max(0, reached - again)
    log += originals[sent:]
    assert seen(log) == originals


def test_a_query_that_was_forgotten_begins_again() -> None:
    events = [answer(step=0), answer(step=1), answer(step=0, hours=2), answer(step=1, hours=3)]
    assert seen([*events, *events[2:]]) == events


def test_what_is_not_selected_counts_as_seen() -> None:
    following = Following(Selection(changed_only=True))
    assert following.event(ANSWERS, encode(answer(step=1, changed=False))) is None
    assert following.event(ANSWERS, encode(answer(step=0, changed=True))) is None


@given(st.binary(max_size=200))
def test_bytes_of_any_kind_are_refused_politely(data: bytes) -> None:
    with pytest.raises(InputError):
        Following(Selection()).event(ATTRIBUTIONS, data)
