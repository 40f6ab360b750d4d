"""How many documents are poisoned at each step: golden schedules, edges, and what always holds."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.pipelines.evaluation.attacks.timing import Kind, Moment, Timing, moments
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Labels
from tests.builders import make_snapshot

SCHEDULES = (
    *("all", "2016,2020", "every-3", "constant-2", "ramp", "ramp-4", "walk", "walk-4", "pulse-2"),
    *("pulse-3-1", "late-3", "late-0-2", "early-2", "early-0", "drift", "drift-3"),
)


def history(*answers, year=2015):
    return [
        replace(
            make_snapshot(["a"], observed_at=datetime(year + step, 12, 31, tzinfo=UTC)),
            labels=Labels(tuple(answer.split("|"))),
        )
        for step, answer in enumerate(answers)
    ]


def counts(schedule, *, steps=5, peak=4, seed=0, answers=None, query="cup"):
    made, previous = [], 0
    timing = Timing.parse(schedule)
    snapshots = history(*(answers or ["Rome"] * steps))
    for moment in moments(snapshots, question=0):
        moment = replace(moment, query_id=query)
        previous = timing.count(moment, peak=peak, previous=previous, seed=seed)
        made.append(previous)
    return made


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("ramp", [0, 1, 2, 3, 4]),
        ("pulse-2", [4, 0, 4, 0, 4]),
        ("late-3", [0, 0, 0, 4, 4]),
        ("early-2", [4, 4, 0, 0, 0]),
        ("constant", [4, 4, 4, 4, 4]),
        ("", [4, 4, 4, 4, 4]),
        ("every-2", [4, 0, 4, 0, 4]),
        ("2016,2019", [0, 4, 0, 0, 4]),
        ("early-0", [0, 0, 0, 0, 0]),
        ("late-0", [4, 4, 4, 4, 4]),
        ("late-9", [0, 0, 0, 0, 0]),
    ],
)
def test_golden(schedule, expected):
    assert counts(schedule) == expected


def test_ten_steps_of_a_ramp_to_four():
    assert counts("ramp", steps=10) == [0, 0, 0, 1, 1, 2, 2, 3, 3, 4]


def test_the_only_step_of_a_ramp_is_its_last():
    assert counts("ramp", steps=1) == [4]


def test_drift_starts_where_the_right_answer_changes_and_stays():
    assert counts("drift", answers=["A|a", "a|A", "B", "C", "A"]) == [0, 0, 4, 4, 4]
    assert counts("drift", answers=["A"] * 3) == [0, 0, 0]


def test_former_answers_are_those_right_once_and_not_now_newest_first():
    former = [moment.former for moment in moments(history("A|a1", "B", "C", "A"), question=0)]
    assert former == [(), ("A", "a1"), ("B", "A", "a1"), ("C", "B", "a1")]


def test_walk_depends_on_the_seed_and_the_question_only():
    walks = {
        tuple(counts("walk", steps=30, seed=seed, query=query)) for seed in (0, 1) for query in "ab"
    }
    assert len(walks) == 4
    assert counts("walk", steps=30) == counts("walk", steps=30)


@given(st.integers(0, 1000), st.integers(1, 4), st.integers(1, 40))
def test_walk_moves_by_one_at_most_and_stays_in_range(seed, peak, steps):
    walk = [0, *counts("walk", steps=steps, peak=peak, seed=seed)]
    assert all(0 <= k <= peak for k in walk)
    assert all(abs(a - b) <= 1 for a, b in zip(walk, walk[1:], strict=False))


def test_walk_takes_every_step_about_equally_often():
    jumps = []
    timing = Timing(Kind.WALK)
    for step in range(600):
        moment = Moment("q", 0, step, 600, 2020)
        jumps.append(timing.count(moment, peak=10, previous=5) - 5)
    assert all(150 < jumps.count(jump) < 250 for jump in (-1, 0, 1))


@given(st.sampled_from(SCHEDULES), st.integers(0, 5), st.integers(1, 12))
def test_no_schedule_leaves_its_bounds(schedule, peak, steps):
    assert all(0 <= k <= peak for k in counts(schedule, steps=steps, peak=peak))
    assert counts(schedule, steps=steps, peak=0) == [0] * steps


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_is_read(schedule):
    timing = Timing.parse(schedule)
    numbers = [int(part) for part in schedule.split("-")[1:]]
    if timing.kind in (Kind.PULSE, Kind.LATE, Kind.EARLY, Kind.EVERY):
        assert timing.number == numbers.pop(0)
    assert timing.peak == (numbers[0] if numbers else None)


@pytest.mark.parametrize(
    "text",
    [
        *("pulse-0", "pulse", "late", "early", "every-0", "ramp-", "walk-x", "late-3-", "16"),
        *("late-3-4-5", "constant-1-2", "sometimes", "2016,", "late--1", "drift-1-2"),
    ],
)
def test_unreadable_schedules_are_refused(text):
    with pytest.raises(ConfigurationError, match="cannot read"):
        Timing.parse(text)


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        ("", "at every step"),
        ("constant-2", "at every step"),
        ("2019,2016", "in 2016, 2019"),
        ("every-3", "at one step in 3"),
        ("pulse-2-4", "at one step in 2, from the first on"),
        ("late-0", "at every step"),
        ("late-1", "after the first step"),
        ("late-3", "after the first 3 steps"),
        ("early-1", "at the first step"),
        ("last-2-5", "at the last 2 steps"),
        ("ramp-4", "more and more to the last step"),
        ("walk", "more or fewer at each step, by lot"),
        ("drift", "from the first change of the right answer on"),
    ],
)
def test_a_schedule_is_told_in_words(schedule: str, words: str) -> None:
    assert Timing.parse(schedule).in_words == words
