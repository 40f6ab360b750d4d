"""Tables: what a cell says, and that Markdown shows names as they are."""

from dataclasses import replace

import pytest

from radarstream.lab.attacks.protocol import Condition
from radarstream.lab.defences.tables import tables_of
from radarstream.lab.study.rows import Cost
from radarstream.lab.study.table import Table, TableCell, TableRow, escaped, markdown
from tests.lab.study_rows import PARIS, record, row, scored

ATTACKED = replace(PARIS, attack="pia", poisoned_ranks=(1,))


def board_of(rows, settings=None):
    return {table.key: table for table in tables_of(scored(rows, settings)[0]) if table.rows}


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
    board = static_board()
    assert board["cost"].columns[:2] == ("seconds", "calls")
    assert [line[1] for line in texts(board["cost"])] == ["10.0", "1.0"]  # means over conditions
    table = board["rates"]
    assert table.columns == ("benign", "pia@1")
    assert [(r.heading, r.reference) for r in table.rows] == [("radar", True), ("vanilla", False)]
    assert texts(table) == [["90/10", "100/0"], ["89/11", "0\u2020/100\u2020"]]
    assert str(table.rows[0].cells[0]) == "90/10 [55-100 / 0-45]"
    failed, attacked = table.rows[1].cells
    assert failed.detail.endswith("Δ +0 [-30 to +30]; n=9; 1 failed")
    assert attacked.detail.endswith("Δ -100 [-100 to -44]†; Δ +100 [+44 to +100]†")
    assert failed.value == pytest.approx(8 / 9)
    notes = " ".join(table.notes)
    for words in ("McNemar, exact", "Holm", "3 tests", "1 answer failed", "down <b>"):
        assert words in notes


def test_tokens_that_were_not_counted_are_told_apart_from_none():
    costs = {
        "radar": Cost(calls=2, prompt_tokens=9, completion_tokens=4),
        "vanilla": Cost(1, None, None),
    }
    rows = [row("Paris", contender=name, cost=cost) for name, cost in costs.items()]
    table = board_of(rows)["cost"]
    assert table.columns[2:4] == ("tokens in", "tokens out")
    assert [line[2:4] for line in texts(table)] == [["9.0", "4.0"], ["-", "-"]]
    assert "Tokens are not counted (-) where" in " ".join(table.notes)


def test_cells_without_answers_are_dashes_and_tables_without_any_left_out():
    assert board_of([]) == {}
    assert texts(board_of([row("Paris")])["rates"]) == [["100/0", "-"]]


def test_histories_add_dynamics_storage_and_attacked_steps():
    rows = [
        row(text, step=step, labels=labels, condition="pia@1:early-1", state_bytes=90 + step)
        for step, (text, labels) in enumerate(
            [("Lyon", ATTACKED), ("Lyon", PARIS), ("Paris", PARIS)]
        )
    ]
    early = Condition("pia", (1,), "early-1")
    tables = board_of(rows, record(("radar",), (early,)))
    assert list(tables)[:2] == ["rates", "rates_on_attacked_steps"]
    assert str(tables["dynamics"].rows[0].cells[0]) == "- -; 1.0 in 1 of 1"
    assert str(tables["storage"].rows[0].cells[0]) == "91 [most 92, +1.0 a step]"


def test_markdown_is_a_table_that_shows_text_as_it_is():
    hostile = "a|b\n<script> [x](http://x) _y_ *z* `c` \x1b[2J"
    table = Table("k", "T", "defence", ("one", hostile), (TableRow(hostile, (TableCell("1"),)),))
    text = markdown(table, escaped)
    lines = text.splitlines()
    assert lines[0] == "### T"
    assert lines[2].startswith("| defence | one | a\\|b \\<script\\> [x]\\(http://x) \\_y\\_")
    assert lines[3] == "| :-- | --: | --: |"
    assert "\x1b" not in text
    assert markdown(static_board()["rates"], escaped).count("\n|") == 4
    snake = Table("k", "T", "defence", (), (TableRow("reliability_rag", ()),))
    assert "| reliability_rag |" in markdown(snake, escaped)


def test_percents_have_a_decimal_only_with_enough_trials():
    rows = [row("Paris" if i % 3 else "Rome", question=f"q{i}") for i in range(101)]
    tables = board_of(rows, record(("radar",), (Condition(),)))
    assert texts(tables["rates"]) == [["66.3/0.0"]]
