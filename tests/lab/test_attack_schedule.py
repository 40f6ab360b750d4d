"""Schedules: grammar, rotation over questions, precedence."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radarstream.lab.attacks.protocol import Condition
from radarstream.lab.attacks.schedule import Schedule
from radarstream.lab.attacks.timing import Moment, Timing
from radarstream.pipelines.job.replaying.source import check_plantings
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Labels
from tests.builders import make_snapshot

YEARS = (2015, 2016, 2018, 2020, 2021, 2022)


def history(question):
    return [
        make_snapshot(
            ["a", "b", "c"],
            question=f"Question {question}?",
            query_id=f"q-{question}",
            observed_at=datetime(year, 12, 31, tzinfo=UTC),
            labels=Labels(("right",), target="wrong", false_passages=("It is wrong.",)),
        )
        for year in YEARS
    ]


def attacked_years(schedule, *histories):
    snapshots = [snapshot for one in histories for snapshot in one]
    poisoned = Schedule.parse(schedule).poison(snapshots)
    return [(s.query.id, s.observed_at.year) for s in poisoned if s.labels.attack]


def test_grammar():
    assert Schedule.parse("pia@1:2016,2020;poison@9+10:every-3; pia@2").clauses == (
        Condition("pia", (1,), "2016,2020"),
        Condition("poison", (9, 10), "every-3"),
        Condition("pia", (2,)),
    )
    assert Schedule.parse("pia@1:all") == Schedule.parse("pia@1")
    assert Schedule.parse(" ") == Schedule()
    with pytest.raises(ConfigurationError):
        Schedule.parse("pia@1 poison@2")
    assert list(Schedule().poison(history(0))) == history(0)


def test_interleaving_questions_changes_nothing():
    apart = attacked_years("pia@1:every-2", history(0), history(1))
    together = [s for pair in zip(history(0), history(1), strict=True) for s in pair]
    assert sorted(attacked_years("pia@1:every-2", together)) == sorted(apart)


@given(st.integers(1, 7), st.integers(0, 30))
def test_each_question_is_hit_once_in_any_n_steps(n, question):
    timing = Timing.parse(f"every-{n}")
    moments = [Moment("q", question, step, 3 * n, 2020) for step in range(3 * n)]
    hits = [timing.attacks(moment) for moment in moments]
    assert all(sum(hits[i : i + n]) == 1 for i in range(2 * n))


def test_the_first_clause_that_applies_wins_and_the_rest_stays_as_it_was():
    snapshots = history(0)
    poisoned = list(Schedule.parse("poison@2:2016; pia@1:2016,2018").poison(snapshots))
    assert [s.labels.attack for s in poisoned] == [None, "poison", "pia", None, None, None]
    assert poisoned[1].labels.poisoned_ranks == (2,)
    unhit = [i for i, s in enumerate(poisoned) if s.labels.attack is None]
    assert all(poisoned[i] is snapshots[i] for i in unhit)


def counted(schedule, snapshots):
    parsed = Schedule.parse(schedule)
    plantings = parsed.plantings()
    return list(parsed.poison(snapshots, plantings)), plantings


def test_snapshots_that_cannot_be_attacked_stay_as_they_are_and_are_counted():
    given_ = history(0)
    given_[1] = replace(given_[1], labels=None)
    given_[3] = replace(given_[3], labels=replace(given_[3].labels, target="It is right."))
    made, (years, others) = counted("pia@2:2016,2018; poison@1", given_)
    assert [s.labels and s.labels.attack for s in made] == [
        "poison", None, "pia", None, "poison", "poison",
    ]  # fmt: skip
    assert made[1] is given_[1] and made[3] is given_[3]
    assert (years.due, years.attacked, years.skipped) == (2, 1, 1)
    assert "no target" in years.reason
    assert (others.due, others.attacked, others.skipped) == (6, 3, 1)
    assert "contains the right answer" in str(others)
    check_plantings((years, others))


@pytest.mark.parametrize(
    ("schedule", "change", "message"),
    [
        ("pia@1:1999", {}, "pia@1:1999 matches no snapshot"),
        ("pia@1; poison@2:late-6", {}, "poison@2:late-6 matches no snapshot"),
        ("pia@1", {"target": None}, "no target answer"),
        ("poison@1", {"false_passages": ()}, "no false passage"),
        ("stale@1", {}, "stale@1 has nothing to plant"),
    ],
)
def test_a_schedule_that_attacks_nothing_is_refused(schedule, change, message):
    given_ = [replace(s, labels=replace(s.labels, **change)) for s in history(0)]
    made, plantings = counted(schedule, given_)
    assert any(s.labels.attack for s in made) == schedule.startswith("pia@1;")
    with pytest.raises(ConfigurationError, match=message):
        check_plantings(plantings)
