"""How many documents are poisoned at each step: golden schedules, edges, and what always holds."""

from datetime import UTC, datetime

import pytest

from radarstream.lab.attacks.timing import Timing, moments
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Labels
from tests.builders import make_snapshot


def history(*answers, year=2015):
    return [
        make_snapshot(
            ["a"],
            observed_at=datetime(year + step, 12, 31, tzinfo=UTC),
            labels=Labels(tuple(answer.split("|"))),
        )
        for step, answer in enumerate(answers)
    ]


def counts(schedule, *, steps=5, answers=None):
    timing = Timing.parse(schedule)
    snapshots = history(*(answers or ["Rome"] * steps))
    return [4 * timing.attacks(moment) for moment in moments(snapshots, question=0)]


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
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


def test_drift_starts_where_the_right_answer_changes_and_stays():
    assert counts("drift", answers=["A|a", "a|A", "B", "C", "A"]) == [0, 0, 4, 4, 4]
    assert counts("drift", answers=["A"] * 3) == [0, 0, 0]


def test_former_answers_are_those_right_once_and_not_now_newest_first():
    former = [moment.former for moment in moments(history("A|a1", "B", "C", "A"), question=0)]
    assert former == [(), ("A", "a1"), ("B", "A", "a1"), ("C", "B", "a1")]


@pytest.mark.parametrize(
    "text",
    [
        *("pulse-2", "late", "early", "every-0", "drift-", "late-x", "late-3-", "16"),
        *("late-3-4-5", "constant-1-2", "sometimes", "2016,", "late--1", "drift-1-2"),
    ],
)
def test_unreadable_schedules_are_refused(text):
    with pytest.raises(ConfigurationError, match="cannot read"):
        Timing.parse(text)
