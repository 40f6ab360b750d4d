"""Tables: what a cell says, and that Markdown shows names as they are."""

from dataclasses import replace

import pytest

from radarstream.lab.attacks.protocol import Condition
from radarstream.lab.defences.answers import study_frame
from radarstream.lab.defences.comparison_tables import (
    differences_table,
    rates_table,
)
from radarstream.lab.defences.scores import score_cells
from radarstream.lab.defences.tables import (
    cost_table,
    dynamics_table,
    storage_table,
    tables_of,
)
from radarstream.lab.study.rows import Cost
from radarstream.lab.study.table import Table, TableCell, TableRow, markdown, p_value
from tests.lab.study_rows import PARIS, record, row

ATTACKED = replace(PARIS, attack="pia", poisoned_ranks=(1,))


def board_of(rows, settings=None):
    settings = settings or record()
    return score_cells(study_frame(rows, settings), settings)


def static_board():
    rows = [
        row(
            answer(contender, condition, i),
            contender=contender,
            condition=condition,
            question=f"q{i}",
            labels=ATTACKED if condition == "pia@1" else PARIS,
            error="down <b>" if (contender, condition, i) == ("vanilla", "benign", 9) else None,
            cost=Cost(calls=10 if contender == "radar" else 1),
        )
        for contender in ("radar", "vanilla")
        for condition in ("benign", "pia@1")
        for i in range(10)
    ]
    return board_of(rows)


def answer(contender, condition, question):
    if condition == "benign":
        return "Paris" if question else "Lyon"
    return "Paris" if contender == "radar" else "Lyon"


def texts(table: Table) -> list[list[str]]:
    return [[cell.text for cell in row.cells] for row in table.rows]


def test_rates_are_accuracy_and_attack_success_with_intervals_marks_and_failures():
    table = rates_table(static_board())
    assert table.columns == ("benign", "pia@1")
    assert [(r.heading, r.reference) for r in table.rows] == [("radar", True), ("vanilla", False)]
    assert texts(table) == [["90/10", "100/0"], ["89/11", "0\u2020/100\u2020"]]
    assert str(table.rows[0].cells[0]) == "90/10 [55-100 / 0-45]"
    assert table.rows[1].cells[0].detail.endswith("1 failed; n=9")
    assert "n=" not in " ".join(str(row.cells[1]) for row in table.rows)
    assert table.rows[1].cells[0].value == pytest.approx(8 / 9)
    notes = " ".join(table.notes)
    assert "McNemar, exact" in notes
    assert "Holm" in notes
    assert "3 tests" in notes
    assert "1 answer failed" in notes
    assert "n: how many answers" in notes


def test_differences_name_the_reference():
    table = differences_table(static_board())
    assert texts(table)[0] == ["reference", "reference"]
    assert texts(table)[1] == ["+0", "-100 / +100"]
    assert table.rows[1].cells[0].detail.endswith("]; 1 unpaired")
    assert "n=" not in str(table.rows[1].cells[0])
    assert "-100 to -44, p 0.004; +44 to +100, p 0.002" in table.rows[1].cells[1].detail


def test_costs_are_means_over_conditions():
    table = cost_table(static_board())
    assert table.columns[:3] == ("answers", "errors", "model calls")
    assert [row.cells[:3] for row in table.rows] == [
        (TableCell("20", value=20), TableCell("0"), TableCell("10.0", value=10.0)),
        (TableCell("19", value=19), TableCell("1"), TableCell("1.0", value=1.0)),
    ]


def test_tokens_that_were_not_counted_are_told_apart_from_none():
    costs = {
        "radar": Cost(calls=2, prompt_tokens=9, completion_tokens=4),
        "vanilla": Cost(1, None, None),
    }
    rows = [row("Paris", contender=name, cost=cost) for name, cost in costs.items()]
    table = cost_table(board_of(rows))
    assert table.columns[3:5] == ("tokens in", "tokens out")
    assert [line[3:5] for line in texts(table)] == [["9", "4"], ["not counted", "not counted"]]
    assert "Tokens are not counted where" in " ".join(table.notes)


def test_empty_cells_are_dashes():
    board = board_of([])
    for table in tables_of(board):
        assert all(cell.text for row in table.rows for cell in row.cells)
    assert texts(rates_table(board)) == [["-/-", "-/-"]] * 2
    assert texts(cost_table(board))[0][2] == "-"


def test_cells_of_equal_coverage_are_not_counted():
    rows = [row("Paris", contender=name) for name in ("radar", "vanilla")]
    table = rates_table(board_of(rows, record(conditions=(Condition(),))))
    assert "n=" not in "".join(str(cell) for row in table.rows for cell in row.cells)
    assert not [note for note in table.notes if note.startswith("n:")]


def test_histories_add_dynamics_storage_and_attacked_steps():
    rows = [
        row(text, step=step, labels=labels, condition="pia@1:early-1", state_bytes=90 + step)
        for step, (text, labels) in enumerate(
            [("Lyon", ATTACKED), ("Lyon", PARIS), ("Paris", PARIS)]
        )
    ]
    early = Condition("pia", (1,), "early-1")
    board = board_of(rows, record(("radar",), (early,)))
    keys = [table.key for table in tables_of(board)]
    assert keys[:2] == ["rates", "rates_on_attacked_steps"]
    assert {"dynamics", "storage", "cost", "differences"} < set(keys)
    assert len(set(keys)) == len(keys)
    assert str(dynamics_table(board).rows[0].cells[0]) == "- [-; 1.0 in 1 of 1]"
    assert str(storage_table(board).rows[0].cells[0]) == "91 [most 92, +1.0 a step]"


def test_markdown_is_a_table_that_shows_text_as_it_is():
    hostile = "a|b\n<script> [x](http://x) _y_ *z* `c` \x1b[2J"
    table = Table("k", "T", "defence", ("one", hostile), (TableRow(hostile, (TableCell("1"),)),))
    text = markdown(table)
    lines = text.splitlines()
    assert lines[0] == "### T"
    assert lines[2].startswith("| defence | one | a\\|b \\<script\\> [x]\\(http://x) \\_y\\_")
    assert lines[3] == "| :-- | --: | --: |"
    assert "\x1b" not in text
    assert markdown(rates_table(static_board())).count("\n|") == 4


def test_snake_names_stay_readable():
    table = Table("k", "T", "defence", (), (TableRow("reliability_rag", ()),))
    assert "| reliability_rag |" in markdown(table)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "< 0.001"), (0.0404, "0.040"), (1.0, "1"), (0.9999, "1")]
)
def test_p_values(value, text):
    assert p_value(value) == text


def test_percents_have_a_decimal_only_with_enough_trials():
    rows = [row("Paris" if i % 3 else "Rome", question=f"q{i}") for i in range(101)]
    board = board_of(rows, record(("radar",), (Condition(),)))
    assert texts(rates_table(board)) == [["66.3/0.0"]]
