"""Stale answers and recovery, step by step."""

from dataclasses import replace

import pytest

from radarstream.lab.defences import dynamics
from radarstream.lab.defences.answers import study_frame
from radarstream.lab.defences.dynamics import Recovery
from radarstream.lab.study.rates import Rate
from radarstream.schemas.snapshot import Labels
from tests.lab.study_rows import record, row

NAMES = {"a": "Ann", "b": "Bob", "c": "Cid", "L": "Lyon", "-": None}


def history(truth, said, attacked="", question="q0"):
    """One letter a step: the truth, the answer (`!` failed), `x` where a document is planted."""
    rows = []
    for step, (right, answer) in enumerate(zip(truth, said, strict=True)):
        labels = Labels(answers=(NAMES[right],), target="Lyon")
        if attacked[step : step + 1] == "x":
            labels = replace(labels, attack="pia", poisoned_ranks=(1,))
        error = "down" if answer == "!" else None
        text = None if error else NAMES[answer]
        rows.append(row(text, step=step, question=question, labels=labels, error=error))
    return rows


def stale_in(rows):
    return study_frame(rows, record())["stale"].to_list()


def stale(truth, said):
    return stale_in(history(truth, said))


def dynamics_of(rows):
    (found,) = dynamics.dynamics_of(study_frame(rows, record()), [("radar", "benign")])
    return found


def test_stale_is_right_before_and_wrong_now():
    assert stale("aabb", "aaab") == [None, None, True, False]
    assert stale("aabc", "aaba") == [None, None, False, True]
    assert stale("abb", "ccL") == [None, False, False]
    assert stale("abb", "a-!") == [None, False, None]
    assert stale("aba", "aba") == [None, False, False]
    assert stale("aba", "aaa") == [None, True, False]


def test_one_of_joint_answers_is_stale_when_it_was_all_before():
    joint = Labels(answers=("Ann", "Bob"), all_answers_required=True)
    rows = [
        row("Ann", step=0, labels=Labels(answers=("Ann",))),
        row("Ann", step=1, labels=joint),
        row("Ann and Bob", step=2, labels=joint),
    ]
    assert stale_in(rows) == [None, True, False]


def test_other_wordings_of_the_same_answers_are_no_change():
    rows = [
        row("Ann", step=0, labels=Labels(answers=("Ann",))),
        row("Bob", step=1, labels=Labels(answers=("ann.",))),
    ]
    assert stale_in(rows)[1] is None
    assert dynamics_of(rows).after_change.events == 0


@pytest.mark.parametrize(
    ("said", "attacked", "expected"),
    [
        ("LLaaa", "xx...", Recovery(1, 1, 0.0)),
        ("LLLLa", "xx...", Recovery(1, 1, 2.0)),
        ("LLLLL", "xx...", Recovery(1, 0, None)),
        ("aaaaa", ".....", Recovery(0, 0, None)),
        ("LLLLL", "xxxxx", Recovery(0, 0, None)),
        ("LLLaa", "x.x.x", Recovery(2, 1, 0.0)),
        ("L!aaa", "x....", Recovery(1, 1, 0.0)),
        ("LL!La", "x....", Recovery(1, 1, 2.0)),
        ("L!!!!", "x....", Recovery(0, 0, None)),
        ("LL!!!", "x....", Recovery(1, 0, None)),
    ],
)
def test_recovery_after_an_attack(said, attacked, expected):
    assert dynamics_of(history("a" * 5, said, attacked)).after_attack == expected


@pytest.mark.parametrize(
    ("truth", "said", "expected"),
    [
        ("aabbb", "aabbb", Recovery(1, 1, 0.0)),
        ("aabbb", "aaaab", Recovery(1, 1, 2.0)),
        ("abcbb", "aaacb", Recovery(3, 1, 1.0)),
    ],
)
def test_recovery_after_a_change(truth, said, expected):
    assert dynamics_of(history(truth, said)).after_change == expected


def test_rows_may_come_in_any_order():
    rows = history("aabbc", "aaabc", "xx...")
    assert dynamics_of(rows[::-1]) == dynamics_of(rows)


def test_curves_group_by_step():
    rows = history("aab", "aLa", ".x.") + history("aa", "a!", question="q1")
    found = dynamics_of(rows)
    assert [step.at for step in found.steps] == [0, 1, 2]
    assert [step.rates["correct"] for step in found.steps] == [Rate(2, 2), Rate(0, 1), Rate(0, 1)]
    assert [step.rates["fooled"] for step in found.steps] == [Rate(0, 2), Rate(1, 1), Rate(0, 1)]
    assert [step.rates["stale"] for step in found.steps] == [Rate(0, 0), Rate(0, 0), Rate(1, 1)]
