"""From rows to the scoreboard."""

import math
from dataclasses import replace

import pytest
from pydantic import TypeAdapter

from radarstream.lab.attacks.protocol import Condition
from radarstream.lab.defences.answers import study_frame
from radarstream.lab.defences.scoreboard import STORAGE, Scoreboard
from radarstream.lab.defences.scores import score_cells
from radarstream.lab.study.comparison import PairedTest, mcnemar_exact
from radarstream.lab.study.frame import pooled
from radarstream.lab.study.rates import Rate
from radarstream.lab.study.rows import Cost
from radarstream.schemas.snapshot import Labels
from tests.lab.study_rows import PARIS, PIA, record, row

ATTACKED = replace(PARIS, attack="pia", poisoned_ranks=(1,))


def board(rows, settings=None):
    settings = settings or record()
    return score_cells(study_frame(rows, settings), settings)


def static_rows(ours, theirs, **members):
    """Letters of the answers to q0, q1, ...: P right, L the target, - abstains, ! failed."""
    texts = {"P": "It is Paris", "L": "Lyon.", "-": None, "!": None, "x": "Rome"}
    return [
        row(
            texts[letter],
            contender=contender,
            question=f"q{i}",
            error="the model is down" if letter == "!" else None,
            **members,
        )
        for contender, letters in (("radar", ours), ("vanilla", theirs))
        for i, letter in enumerate(letters)
    ]


def test_rates_of_a_static_set_have_exact_intervals():
    found = board(static_rows("PPPL-x", "PLLL--"))
    assert found.static
    cell = found.cell("radar", "benign")
    assert (cell.accuracy.hits, cell.accuracy.trials) == (3, 6)
    assert (cell.accuracy.low, cell.accuracy.high) == pytest.approx(Rate(3, 6).interval)
    assert cell.accuracy.effective == pytest.approx(6.0)
    assert cell.attack_success.value == pytest.approx(1 / 6)
    assert cell.scores.abstained == Rate(1, 6)
    assert cell.dynamics is None
    assert found.cell("vanilla", "benign").scores.fooled == Rate(3, 6)


def test_difference_is_over_the_same_answers():
    found = board(static_rows("PPPPPPPPP!", "PLLLLLL-!P", condition="pia@1", labels=ATTACKED))
    difference = found.cell("vanilla", "pia@1").accuracy_difference
    assert (difference.pairs, difference.excluded) == (8, 2)
    assert difference.value == -7 / 8
    assert (difference.only_contender, difference.only_reference) == (0, 7)
    assert difference.low <= difference.value <= difference.high
    assert difference.test is PairedTest.MCNEMAR
    assert difference.p_value == mcnemar_exact(0, 7)
    assert difference.p_holm == difference.p_value
    attack = found.cell("vanilla", "pia@1").attack_difference
    assert (attack.value, attack.p_value) == (6 / 8, mcnemar_exact(6, 0))
    assert found.cell("radar", "pia@1").accuracy_difference is None


def test_an_answer_missing_on_one_side_is_excluded():
    difference = board(static_rows("PP", "PPP")).cell("vanilla", "benign").accuracy_difference
    assert (difference.pairs, difference.excluded) == (2, 1)


def test_holm_takes_all_differences_of_one_quantity_together():
    rows = static_rows("PPPPPP", "LLLLLL")
    rows += static_rows("PPPPPP", "LLLLLL", condition="pia@1", labels=ATTACKED)
    found = board(rows)
    p_value = mcnemar_exact(0, 6)
    accuracy = [found.cell("vanilla", c).accuracy_difference for c in found.conditions]
    assert [d.p_holm for d in accuracy] == [2 * p_value] * 2
    assert found.cell("vanilla", "pia@1").attack_difference.p_holm == p_value
    assert found.cell("vanilla", "benign").attack_difference is None


def test_a_failed_answer_is_counted_apart_and_never_wrong():
    found = board(static_rows("PP!", "PPP"))
    cell = found.cell("radar", "benign")
    assert (cell.answers, cell.errors, cell.first_error) == (2, 1, "the model is down")
    assert cell.scores.correct == Rate(2, 2)
    assert cell.scores.abstained == Rate(0, 2)
    assert found.cell("vanilla", "benign").accuracy_difference.excluded == 1


def test_the_last_row_about_an_answer_counts():
    rows = [row(None, error="down"), row("Paris")]
    cell = board(rows).cell("radar", "benign")
    assert (cell.answers, cell.errors) == (1, 0)


def test_rows_of_others_are_left_out_and_missing_cells_are_empty():
    found = board([row("Paris", contender="stranger"), row("Lyon", condition="poison@1")])
    assert len(found.cells) == 4
    cell = found.cell("vanilla", "pia@1")
    assert (cell.answers, cell.accuracy.value, cell.means) == (0, None, {})
    assert (cell.accuracy.low, cell.accuracy.high) == (0.0, 1.0)
    assert cell.accuracy_difference.pairs == 0
    assert cell.accuracy_difference.p_value is None
    with pytest.raises(KeyError):
        found.cell("stranger", "benign")


def test_without_the_reference_there_are_no_differences():
    found = board(static_rows("PP", "PL"), record(reference="absent"))
    assert all(cell.accuracy_difference is None for cell in found.cells)


def test_unlabelled_answers_leave_the_denominators():
    rows = static_rows("PP", "PL") + [row("Rome", question="q9", labels=Labels(target="Lyon"))]
    rows += [replace(rows[-1], contender="vanilla")]
    cell = board(rows).cell("vanilla", "benign")
    assert (cell.accuracy.trials, cell.attack_success.trials) == (2, 3)
    assert (cell.accuracy_difference.pairs, cell.accuracy_difference.excluded) == (2, 0)


def history_rows(texts, *, contender="radar", question="q0", condition="benign", **members):
    return [
        row(text, contender=contender, question=question, step=step, condition=condition, **members)
        for step, text in enumerate(texts)
    ]


def test_answers_of_a_history_count_by_question():
    rows = [
        r
        for i in range(12)
        for contender, text in (("radar", "Paris"), ("vanilla", "Paris" if i < 9 else "Rome"))
        for r in history_rows([text] * 8, contender=contender, question=f"q{i}")
    ]
    found = board(rows)
    assert not found.static
    cell = found.cell("vanilla", "benign")
    assert cell.accuracy.value == 0.75
    assert (cell.accuracy.low, cell.accuracy.high) == pytest.approx(Rate(9, 12).interval, abs=0.02)
    assert cell.accuracy_difference.value == -0.25
    assert cell.accuracy_difference.test is PairedTest.SIGN_FLIP
    assert cell.accuracy_difference.p_value == 2 / 2**3  # three questions differ
    assert cell.dynamics is not None


def test_scheduled_attack_scores_the_attacked_steps_apart():
    rows = [
        row("Lyon", condition="pia@1", step=0, labels=ATTACKED),
        row("Paris", condition="pia@1", step=1),
    ]
    cell = board(rows).cell("radar", "pia@1")
    assert cell.on_attacked_steps.fooled == Rate(1, 1)
    assert cell.attack_success.value == 0.5
    assert board(rows[:1]).cell("radar", "pia@1").on_attacked_steps is None


@pytest.mark.parametrize(
    ("attack", "target", "expected"),
    [
        ("pia", "Lyon", Rate(2, 3)),
        ("stale", "Rome", Rate(0, 1)),
        ("jamming", "I cannot answer that", Rate(1, 1)),
    ],
)
def test_attacks_with_their_own_target_are_scored_on_attacked_steps(attack, target, expected):
    condition = Condition(attack, (1,), "early-1")
    labels = replace(PARIS, attack=attack, target=target, poisoned_ranks=(1,))
    said = [None if attack == "jamming" else "Paris", "Lyon", "Lyon"]
    rows = [
        row(text, step=step, labels=PARIS if step else labels, condition=condition.name)
        for step, text in enumerate(said)
    ]
    found = board(rows, record(("radar",), (condition,))).cell("radar", condition.name)
    assert found.scores.fooled == expected
    assert (found.attack_success.hits, found.attack_success.trials) == (
        expected.hits,
        expected.trials,
    )
    late = found.dynamics.by_step[1].attack_success
    assert late == (Rate(1, 1) if attack == "pia" else Rate(0, 0))
    assert found.accuracy.trials == 3


def test_cost_is_the_mean_over_answers():
    dear = Cost(calls=10, prompt_tokens=100, pairs=90, atomic_seconds=2.0, generation_seconds=1.0)
    rows = [
        row("Paris", question="a", cost=dear),
        row("Paris", question="b", cost=Cost(calls=1, prompt_tokens=20, completion_tokens=3)),
        row(None, question="c", error="down", cost=Cost(calls=99)),
    ]
    cell = board(rows).cell("radar", "benign")
    cost = cell.means
    assert (cell.answers, cost["calls"], cost["prompt_tokens"], cost["pairs"]) == (
        2,
        5.5,
        60.0,
        45.0,
    )
    assert (cost["completion_tokens"], cost["seconds"]) == (1.5, 1.5)


@pytest.mark.parametrize(
    ("cost", "tokens"),
    [
        (Cost(calls=2, prompt_tokens=None, completion_tokens=None), (None, None)),
        (Cost(calls=2, prompt_tokens=None, completion_tokens=30), (None, 15.0)),
        (Cost(), (50.0, 0.0)),
    ],
)
def test_tokens_that_nobody_counted_are_no_zeros(cost: Cost, tokens: tuple[object, object]):
    rows = [
        row("Paris", question="a", cost=Cost(calls=1, prompt_tokens=100)),
        row("Paris", question="b", cost=cost),
    ]
    found = board(rows).cell("radar", "benign").means
    assert (found["prompt_tokens"], found["completion_tokens"]) == tokens
    other = dict.fromkeys(found, 0.0) | {"prompt_tokens": 70.0, "completion_tokens": 5.0}
    both = pooled([(found, 2), (other, 2)])
    read, written = tokens
    assert both["prompt_tokens"] == (None if read is None else 60.0)
    assert (both["completion_tokens"] is None) == (written is None)


def test_storage_has_mean_most_and_growth_per_step():
    rows = [row("Paris", step=s, state_bytes=b) for s, b in ((0, 80), (1, 90), (3, 130))]
    cell = board(rows).cell("radar", "benign")
    assert [cell.means[name] for name in STORAGE] == [100.0, 130, 15.0]
    assert board([row("Paris")]).cell("radar", "benign").means["state_growth"] is None


@pytest.mark.parametrize("static", [True, False])
def test_scoreboard_survives_json_without_nan(static):
    rows = static_rows("PL!-", "LLxP", condition="pia@1", labels=ATTACKED)
    rows += [] if static else history_rows(["Paris", None, "Rome"])
    found = board(rows)
    adapter = TypeAdapter(Scoreboard)
    text = adapter.dump_json(found)
    assert adapter.validate_json(text) == found
    assert b"NaN" not in text
    assert all(math.isfinite(cell.accuracy.low) for cell in found.cells)


def test_cells_follow_the_record():
    found = board([], record(("vanilla", "radar"), (PIA, Condition())))
    keys = [(cell.contender, cell.condition) for cell in found.cells]
    assert keys == [
        (contender, condition)
        for contender in ("vanilla", "radar")
        for condition in ("pia@1", "benign")
    ]
