"""The table of answers: its columns, what an answer's row says, and the files it is written to."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from radarstream.lab.attacks.protocol import Condition
from radarstream.lab.defences.answers import COLUMNS, study_frame
from radarstream.lab.study.frame import TIDY, write_table
from radarstream.lab.study.judging import AnswerLabel, Judgement
from radarstream.lab.study.rows import Cost
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Labels
from radarstream.schemas.verdict import (
    DocumentVerdict,
    MemoryDecision,
    MemoryVerdict,
    Reason,
    Verdict,
)
from tests.lab.study_rows import PARIS, PIA, record, row

ATTACKED = replace(PARIS, attack="pia", poisoned_ranks=(1,))


def test_a_row_says_what_was_decided_believed_and_spent() -> None:
    memory = MemoryVerdict(MemoryDecision.FALSIFIED, "Rome", 0.4, 0.3, 0.2, 0.6)
    answer = row("Paris", condition="pia@1", labels=ATTACKED, state_bytes=90,
                 cost=Cost(calls=3, prompt_tokens=9, pairs=4, atomic_seconds=0.5))  # fmt: skip
    documents = (
        DocumentVerdict(1, False, Reason.CUT),
        DocumentVerdict(2, True, Reason.SUPPORTED),
        DocumentVerdict(3, True, Reason.SUPPORTED),
    )
    answer = replace(answer, verdict=Verdict("Paris", documents, memory=memory))
    said = Judgement("radar", "pia@1", "q0", 0, AnswerLabel.CORRECT)
    (found,) = study_frame([answer], record(), {said.key: said}).rows(named=True)
    assert (found["contender"], found["condition"], found["query_id"], found["step"]) == answer.key
    assert (found["attack"], found["poisoned_ranks"], found["truth"]) == ("pia", [1], ["Paris"])
    assert (found["documents"], found["kept"], found["rejected"]) == (3, 2, 1)
    assert found["poisoned_kept"] == 0
    assert (found["memory"], found["previous_answer"]) == ("falsified", "Rome")
    assert (found["support_prior"], found["conflict_posterior"]) == (0.4, 0.6)
    assert (found["state_bytes"], found["calls"], found["pairs"]) == (90, 3, 4)
    assert (found["prompt_tokens"], found["seconds"]) == (9, 0.5)
    assert (found["judge_correct"], found["judge_error"]) == (True, None)
    assert (found["outcome"], found["contained_outcome"]) == ("correct", "correct")


def test_what_selects_nothing_keeps_and_rejects_nothing() -> None:
    read = tuple(DocumentVerdict(rank, True, Reason.NOT_JUDGED) for rank in (1, 2))
    answer = replace(row("Paris"), verdict=Verdict("Paris", read))
    (found,) = study_frame([answer], record()).rows(named=True)
    assert (found["documents"], found["kept"], found["rejected"]) == (2, None, None)
    assert found["poisoned_kept"] is None


def test_an_error_has_no_score() -> None:
    (found,) = study_frame([row(None, error="down")], record()).rows(named=True)
    assert (found["error"], found["outcome"], found["abstained"]) == ("down", "error", False)
    scored = ("correct", "fooled", "stale", "contained_correct", "exclusive_fooled")
    assert {found[name] for name in scored} == {None}


def test_rows_come_in_the_order_of_the_record_whatever_their_order() -> None:
    settings = record(("vanilla", "radar"), (PIA, Condition()))
    rows = [
        row("Paris", contender=contender, condition=condition, question=question, step=step)
        for contender in ("radar", "vanilla")
        for condition in ("benign", "pia@1")
        for question in ("q1", "q0")
        for step in (1, 0)
    ]
    found = study_frame(rows, settings)
    assert found.equals(study_frame(rows[::-1], settings))
    keys = found.select("contender", "condition", "query_id", "step").rows()
    assert keys[:3] == [("vanilla", "pia@1", "q0", 0), ("vanilla", "pia@1", "q0", 1),
                        ("vanilla", "pia@1", "q1", 0)]  # fmt: skip


@pytest.mark.parametrize("name", ["t.parquet", "t.csv"])
def test_a_table_is_written_whole_and_read_back(tmp_path: Path, name: str) -> None:
    joint = Labels(("Ann, B", "Bob"), all_answers_required=True)
    frame = study_frame([row("half \ud800 pair\x1b", labels=joint), row(None, step=1)], record())
    path = tmp_path / "new" / "folder" / name
    write_table(frame, path)
    assert [file.name for file in path.parent.iterdir()] == [name]
    if name.endswith("parquet"):
        assert pl.read_parquet(path).equals(frame)
        return
    read = pl.read_csv(path)
    assert read.columns == [*TIDY, *COLUMNS]
    assert read["truth"].to_list() == ["Ann, B | Bob", "Paris"]
    assert read["answer"].to_list() == ["half \ufffd pair", None]
    assert read["correct"].to_list() == [False, False]


def test_no_cell_of_a_csv_is_a_formula_and_numbers_stay(tmp_path: Path) -> None:
    """A spreadsheet runs what begins like one, also behind a blank."""
    told = [
        "=cmd()",
        " +1+cmd|'/C calc'!A0",
        "@sum(a)",
        "-2-x",
        "\t=1",
        "\uff1d1",
        "-5",
        "+1.5",
        "a=b",
    ]
    frame = study_frame([row(text, step=n) for n, text in enumerate(told)], record())
    write_table(frame, tmp_path / "t.csv")
    read = pl.read_csv(tmp_path / "t.csv", schema_overrides={"answer": pl.String()})
    assert read["answer"].to_list() == [f"'{text}" for text in told[:6]] + told[6:]
    write_table(frame, tmp_path / "t.parquet")
    assert pl.read_parquet(tmp_path / "t.parquet")["answer"].to_list() == told


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"written as \.parquet or \.csv"):
        write_table(study_frame([], record()), tmp_path / "t.xlsx")
    assert list(tmp_path.iterdir()) == []
