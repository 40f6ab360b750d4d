"""Accuracy against coverage: by hand, against every order of ties, and how intervals cover."""

from dataclasses import replace
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radarstream.lab.attacks.protocol import Condition
from radarstream.lab.defences.answers import study_frame
from radarstream.lab.defences.scores import score_cells
from radarstream.lab.defences.selective import (
    ALL_ATTACKS,
    POINTS,
    Ordered,
    accuracy_at,
    families_of,
    selective_of,
)
from radarstream.lab.defences.selective_tables import selective_tables
from tests.lab.study_rows import PARIS, PIA, record, row

ATTACKED = replace(PARIS, attack="pia")


def ordered(text, confidences, questions=None):
    """One letter an answer: P right, L the attacker's, x neither, - an abstention."""
    return Ordered(
        question=np.array(questions or range(1, len(text) + 1)),
        correct=np.array([letter == "P" for letter in text], dtype=float),
        fooled=np.array([letter == "L" for letter in text], dtype=float),
        confidence=np.array(
            [
                -1.0 if letter == "-" else sure
                for letter, sure in zip(text, confidences, strict=True)
            ]
        ),
    )


def test_a_curve_by_hand():
    found = selective_of("radar", "pia", ordered("PPxL-", [0.9, 0.8, 0.7, 0.6, 0.99]))
    assert [(p.coverage, p.accuracy, p.attack_success) for p in found.curve] == [
        (0.2, 1.0, 0.0),
        (0.4, 1.0, 0.0),
        (pytest.approx(0.6), pytest.approx(2 / 3), 0.0),
        (0.8, 0.5, 0.25),
    ]
    assert (found.coverage, found.answers, found.harmless) == (0.8, 5, pytest.approx(0.6))
    assert found.aurc.value == pytest.approx((0 + 0 + 1 / 3 + 1 / 2) / 4)
    assert found.aurc_full.value == pytest.approx((0 + 0 + 1 / 3 + 1 / 2 + 3 / 5) / 5)
    assert found.accuracy.value == 0.5
    half, most, whole = found.accuracy_at
    assert half.value == pytest.approx(2 / 2.5)
    assert (most.value, whole) == (0.5, None)


def test_a_contender_that_is_never_sure_has_a_flat_curve():
    found = selective_of("vanilla", "pia", ordered("PxLP", [0.0] * 4))
    assert {p.accuracy for p in found.curve} == {0.5}
    assert {p.attack_success for p in found.curve} == {0.25}
    assert [one.value for one in found.accuracy_at] == [0.5] * 3
    assert found.aurc.value == found.aurc_full.value == 0.5
    assert found.harmless == 0.0


def test_abstaining_always_is_no_good():
    found = selective_of("radar", "pia", ordered("---", [0.5] * 3))
    assert (found.coverage, found.harmless, found.curve) == (0.0, 0.0, ())
    assert found.aurc.value == found.aurc_full.value == 1.0
    assert found.accuracy.value is None
    assert found.accuracy_at == (None,) * 3


def test_more_abstentions_on_wrong_answers_help_up_to_the_coverage_and_not_beyond():
    whole, careful = (ordered(text, [0.9, 0.8, 0.7, 0.6]) for text in ("PPxx", "PP--"))
    assert careful.aurc(full=False) < whole.aurc(full=False)
    assert careful.aurc(full=True) == pytest.approx(whole.aurc(full=True))


@given(
    st.lists(
        st.tuples(st.sampled_from("PLx-"), st.sampled_from([0.2, 0.5, 0.9])), max_size=6, min_size=1
    )
)
def test_ties_are_worth_what_they_are_in_the_mean_of_all_orders(answers):
    text, confidences = zip(*answers, strict=True)
    found = ordered("".join(text), confidences)
    given_ = [i for i in range(len(text)) if text[i] != "-"]
    curves = [
        np.cumsum([0.0, *(text[i] == "P" for i in order)])
        for order in permutations(given_)
        if all(confidences[a] >= confidences[b] for a, b in pairwise(order))
    ]
    assert found.expected(found.correct) == pytest.approx(np.mean(curves, axis=0))
    for count in range(1, len(given_) + 1):
        told = accuracy_at(found, count / len(text))
        assert told.value == pytest.approx(np.mean(curves, axis=0)[count] / count)
        assert told.low - 1e-9 <= told.value <= told.high + 1e-9


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("PLx-"), st.floats(0.0, 1.0)), max_size=24, min_size=1))
def test_figures_are_shares_and_do_not_depend_on_the_order_of_rows(answers):
    text, confidences = zip(*answers, strict=True)
    questions = [1 + i // 3 for i in range(len(text))]
    found = selective_of("a", "pia", ordered("".join(text), confidences, questions))
    turned = ordered("".join(text[::-1]), confidences[::-1], questions[::-1])
    again = selective_of("a", "pia", turned)
    assert again.aurc.value == pytest.approx(found.aurc.value)
    assert again.harmless == pytest.approx(found.harmless)
    for estimate in (found.aurc, found.aurc_full):
        assert 0.0 <= estimate.low <= estimate.value + 1e-9 <= estimate.high + 2e-9 <= 1.0 + 2e-9
    assert len(found.curve) <= POINTS


def test_families_are_attacks_at_every_place_and_all_of_them():
    conditions = [("benign", "benign"), ("pia@1", "pia"), ("pia@10", "pia"), ("poison@1", "poison")]
    assert families_of(conditions) == {
        "benign": ("benign",),
        "pia": ("pia@1", "pia@10"),
        "poison": ("poison@1",),
        ALL_ATTACKS: ("pia@1", "pia@10", "poison@1"),
    }
    assert list(families_of(conditions[:3])) == ["benign", "pia"]


def test_a_scoreboard_has_the_curves_of_its_rows_by_its_definition():
    rows = [
        replace(
            row("Paris" if i < 6 else "Lyon", contender=name, condition="pia@1", question=f"q{i}",
                labels=ATTACKED),
            confidence=(1.0 - i / 10) if name == "radar" else None
        )
        for name in ("radar", "vanilla")
        for i in range(8)
    ]  # fmt: skip
    known = record(conditions=(Condition(), PIA))
    board = score_cells(study_frame(rows, known), known)
    radar, vanilla = board.selective
    assert (radar.contender, radar.family, radar.harmless) == ("radar", "pia", 0.75)
    assert (vanilla.harmless, vanilla.aurc.value) == (0.0, 0.25)
    (table,) = selective_tables(board)
    assert table.columns[0] == "given %"
    assert [r.heading for r in table.rows] == ["radar", "vanilla"]
    assert [cell.text for cell in table.rows[0].cells][:3] == ["100", "75", "100"]
    assert table.rows[0].cells[-1].text == "75"


def test_nominal_95_percent_of_areas_hold_the_truth():
    """Confidence that tells right from wrong somewhat, four answers a question that are alike."""
    rng = np.random.default_rng(11)

    def sample(questions):
        level = rng.beta(2.0, 1.0, size=questions)
        right = rng.random((questions, 4)) < level[:, None]
        sure = np.clip(0.5 * level[:, None] + 0.5 * rng.random((questions, 4)), 0.0, 1.0)
        names = np.repeat(np.arange(1, questions + 1), 4)
        zeros = np.zeros(4 * questions)
        return Ordered(names, right.ravel().astype(float), zeros, sure.ravel())

    truth = sample(200_000).aurc(full=False)
    found = [selective_of("a", "pia", sample(30)).aurc for _ in range(250)]
    assert np.mean([one.low <= truth <= one.high for one in found]) >= 0.93
    assert np.mean([one.high - one.low for one in found]) < 0.25
