"""What `voices` promises, over hostile pages, relations and memories.

Counts here are made from the pages alone: who owns a page, and whose answers mean the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from math import sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.defenses.recheck import rechecked
from radarstream.defenses.recheck.checks import Outcome
from radarstream.defenses.voices import Voices
from radarstream.pipelines.round.pipeline import DefensePipeline
from radarstream.pipelines.settings import ReadingSettings
from radarstream.schemas.codec import decode_answer, encode
from radarstream.schemas.events import AnswerEvent
from radarstream.schemas.evidence import AGREEMENT, FloatArray
from radarstream.schemas.memory import Belief, Memory
from radarstream.schemas.prompt import AnswerPair
from radarstream.schemas.support import AnswerStatus
from radarstream.schemas.verdict import Abstention, Reason
from tests.builders import OBSERVED_AT, make_snapshot
from tests.scripted_models import scripted_models

OLD = ("Rome", "Roma", "Bern", "Oslo")
NEW = ("Cork", "Lima")
RECALLED = "Paris"
SILENT = "I don't know"
SAME, OTHER, APART = (0.9, 0.05, 0.05), (0.05, 0.05, 0.9), (0.1, 0.8, 0.1)
ROWS = (SAME, OTHER, APART, (0.5, 0.0, 0.5), (0.6, 0.1, 0.3), (0.4, 0.3, 0.3))
Page = tuple[str, str]  # the site, and what its page says
Row = tuple[float, float, float]


@dataclass(frozen=True)
class Judge:
    """Relations by pairs of answers; an answer that is not in it is like itself and no other."""

    rows: dict[tuple[str, str], Row]
    model_id: str = "judge"

    def row(self, one: str, other: str) -> Row:
        return self.rows.get((one, other), SAME if one == other else APART)

    def probabilities(self, pairs: Sequence[AnswerPair]) -> FloatArray:
        return np.array([self.row(pair.premise, pair.hypothesis) for pair in pairs])

    def holds(self, one: str, other: str, column: int) -> bool:
        """Whether two answers entail (0) or contradict (2) each other."""
        return sqrt(self.row(one, other)[column] * self.row(other, one)[column]) >= AGREEMENT


def judge_of(classes: dict[str, int], opposed: frozenset[int]) -> Judge:
    """Answers of one class mean the same; of two, contradict each other if both are opposed."""

    def row(one: str, other: str) -> Row:
        if classes[one] == classes[other]:
            return SAME
        return OTHER if {classes[one], classes[other]} <= opposed else APART

    return Judge({(one, other): row(one, other) for one in classes for other in classes})


EVERY = (*OLD, *NEW, RECALLED)
classes = st.fixed_dictionaries({answer: st.integers(0, 3) for answer in EVERY})
consistent = st.builds(judge_of, classes, st.frozensets(st.integers(0, 3), min_size=2))
arbitrary = st.dictionaries(
    st.tuples(st.sampled_from(EVERY), st.sampled_from(EVERY)), st.sampled_from(ROWS)
).map(Judge)
judges = consistent | arbitrary
sites = st.sampled_from([*(f"site{n}x.com" for n in range(6)), "msn.com", ""])
pages = st.lists(st.tuples(sites, st.sampled_from((*OLD, SILENT))), max_size=9)
added = st.lists(st.tuples(st.integers(0, 9), st.sampled_from(EVERY)), max_size=4)
beliefs = st.none() | st.builds(
    Belief,
    st.sampled_from((RECALLED, *OLD)),
    st.floats(0.5, 1.0),
    st.just(0.2),
    st.integers(-9, 900).map(lambda days: OBSERVED_AT - timedelta(days=days)),
)
withstands = st.integers(0, 3)


def event_of(
    said: Sequence[Page],
    judge: Judge,
    withstand: int,
    belief: Belief | None = None,
    block: int = 99,
) -> AnswerEvent:
    texts = [f"a{n} b{n} c{n} d{n} they say: {answer}." for n, (_, answer) in enumerate(said)]
    urls = [site and f"https://{site}/{n}" for n, (site, _) in enumerate(said)]
    pipeline: DefensePipeline[Any] = DefensePipeline(
        "voices",
        Voices(withstand=withstand),
        replace(scripted_models(), relations=judge),
        reading=ReadingSettings(block=block),
    )
    memory = Memory(0 if belief is None else 1, belief)
    return pipeline.answer(make_snapshot(texts, urls=urls), memory)[0]


def with_added(said: Sequence[Page], more: Sequence[tuple[int, str]]) -> list[Page]:
    """The pages in their order with others among them, each of a site of its own."""
    every = list(said)
    for number, (place, answer) in enumerate(more):
        every.insert(place, (f"more{number}x.com", answer))
    return every


def sites_that_say(answer: str, said: Sequence[Page], judge: Judge) -> int:
    """Sites whose best ranked page with an answer says this one; one without an address counts."""
    best: dict[str, str] = {}
    for place, (site, text) in enumerate(said):
        if text != SILENT:
            best.setdefault(site or f"/{place}", text)
    return sum(judge.holds(text, answer, 0) for text in best.values())


def is_remembered(event: AnswerEvent) -> bool:
    return event.status is AnswerStatus.REMEMBERED


@given(pages, judges, withstands, beliefs, st.integers(1, 4))
def test_more_sites_say_an_answer_than_may_lie(said, judge, w, belief, block):
    event = event_of(said, judge, w, belief, block)
    if event.abstention is None and not is_remembered(event):
        assert sites_that_say(event.answer, said[: len(event.seen)], judge) > w


@given(pages, added, judges, withstands, beliefs, beliefs)
def test_it_takes_as_many_more_sites_to_silence_an_answer_as_it_says(
    said, more, judge, w, belief, later
):
    event = event_of(said, judge, w, belief)
    if event.abstention is None and event.support is not None:
        recalled = belief if is_remembered(event) or event.answer not in OLD else later
        fewer = more[: (event.support.to_silence or 1) - 1]
        assert event_of(with_added(said, fewer), judge, w, recalled).abstention is None


@given(pages, added, consistent, withstands, beliefs)
def test_it_takes_as_many_more_sites_to_change_an_answer_as_it_says(said, more, judge, w, belief):
    event = event_of(said, judge, w, belief)
    if event.abstention is None and event.support is not None:
        fewer = more[: (event.support.to_change or 1) - 1]
        other = event_of(with_added(said, fewer), judge, w, belief)
        assert other.abstention is not None or not judge.holds(other.answer, event.answer, 2)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(EVERY)), max_size=9),
    consistent,
    st.integers(1, 3),
)
def test_one_site_changes_and_silences_nothing_that_enough_others_say(lies, judge, w):
    said = [(f"site{n}x.com", "Rome") for n in range(w + 1)]
    for place, answer in lies:
        said.insert(place, ("lies.com", answer))
    assert judge.holds(event_of(said, judge, w).answer, "Rome", 0)


@given(pages, judges, withstands, beliefs)
def test_a_memory_is_given_only_while_it_is_fresh_and_never_in_place_of_what_enough_sites_say(
    said: list[Page], judge: Judge, w: int, belief: Belief | None
) -> None:
    alone = event_of(said, judge, w)
    event = event_of(said, judge, w, belief)
    if alone.abstention is None:
        assert event.abstention is None and not is_remembered(event)
    elif event.abstention is None:
        assert belief is not None and belief.confirmed_at is not None
        assert event.answer == belief.answer
        assert OBSERVED_AT - belief.confirmed_at <= timedelta(days=Voices().memory_days)


@given(pages, judges, withstands, st.integers(1, 4))
def test_pages_that_are_not_read_could_silence_no_answer_and_lead_to_none(said, judge, w, block):
    part, whole = event_of(said, judge, w, block=block), event_of(said, judge, w)
    if part.wanted_more:  # it did not end because one is far enough ahead
        assert (part.abstention is None) == (whole.abstention is None)


@given(pages, judges, withstands, beliefs, st.integers(1, 4))
def test_events_are_right(said, judge, w, belief, block):
    event = event_of(said, judge, w, belief, block)
    for one in (event, decode_answer(encode(event))):
        assert {check.outcome for check in rechecked(one)} == {Outcome.RIGHT}


def test_the_last_page_is_read_where_it_decides() -> None:
    for w, block, said in [(1, 1, "a Rome/b Rome"), (2, 4, "a Rome/b Rome/c Rome/d Bern/a Bern")]:
        pairs = [(f"{site}.com", answer) for site, answer in map(str.split, said.split("/"))]
        judge = judge_of({"Rome": 0, "Bern": 1}, frozenset({0, 1}))
        event = event_of(pairs, judge, w, block=block)
        assert len(event.seen) == len(pairs)
        assert (event.answer == "Rome") == (w == 1)


def test_judges_that_are_steered_and_memories_that_stand() -> None:
    # Else it is for itself in one count, and not in another.
    steering = {("Lima", "Lima"): OTHER, ("Lima", "Rome"): SAME, ("Rome", "Lima"): SAME}
    said = [("a.com", "Lima"), ("b.com", "Rome"), ("c.com", "Rome"), ("b.com", "Lima")]
    event = event_of(said, Judge(steering), 1)
    assert [d.reason for d in event.verdict.documents] == [
        Reason.STEERING, Reason.SELF_CONTRADICTION, Reason.SUPPORTED, Reason.STEERING,
    ]  # fmt: skip
    assert event.abstention is Abstention.THIN_EVIDENCE
    # Though the answer of these sites has as many against it.
    rows = {("Rome", "Bern"): OTHER, ("Rome", RECALLED): SAME, ("Cork", RECALLED): OTHER,
            ("Cork", "Rome"): OTHER}  # fmt: skip
    judge = Judge(rows | {(other, one): row for (one, other), row in rows.items()})
    said = [(f"{name}{n}.com", name) for name in ("Rome", "Bern") for n in range(3)]
    belief = Belief(RECALLED, 0.9, 0.1, OBSERVED_AT)
    event = event_of(said, judge, 1, belief)
    assert event.answer == RECALLED and event.support is not None
    assert (event.support.sites_for, event.support.to_silence) == (3, 3)
    more = [(0, "Cork"), (0, "Cork")]
    assert event_of(with_added(said, more), judge, 1, belief).answer == RECALLED


@pytest.mark.parametrize("days", [5e-324, 1e-12, 1e300])
def test_memories_may_fade_as_fast_and_as_slowly_as_numbers_allow(days: float) -> None:
    belief = Belief("Rome", 0.9, 0.1, OBSERVED_AT - timedelta(days=1))
    assert (Voices(memory_days=days).strength(belief, OBSERVED_AT) > 0.5) == (days > 1.0)
