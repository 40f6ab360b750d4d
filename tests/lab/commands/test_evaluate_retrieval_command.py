"""`radarstream evaluate retrieval` as a user meets it."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from radarstream.connectors.models.scripted import ScriptedTokens
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import ContinuationQuery
from tests import commands

pytestmark = pytest.mark.usefixtures("own_directory")
run = partial(commands.run, "evaluate", "retrieval")


def test_a_dry_run_writes_everything_and_a_second_one_adds_nothing(questions: Path) -> None:
    words = ("--dataset", questions, "--attacks", "poisonedrag,hotflip", "--attack-steps", 2,
             "--rerankers", "prog_rank:runs=3,grada", "--split", "all", "--pool", 6, "--keep", 2,
             "--dry-run", "--out", "out")  # fmt: skip
    first = run(*words)
    assert "report: out/report.html" in first.output and "tables: out/tables.md" in first.output
    names = {"report.html", "tables.md", "results.json", "rows.jsonl", "answers.jsonl",
             "pools.jsonl", "passages.jsonl", "study.json"}  # fmt: skip
    assert names <= {path.name for path in Path("out").iterdir()}
    files = ("rows.jsonl", "answers.jsonl", "pools.jsonl", "passages.jsonl")
    rows = {name: Path("out", name).read_bytes() for name in files}
    assert all(rows.values())
    run(*words, "--table", "pools.csv")
    assert rows == {name: Path("out", name).read_bytes() for name in files}
    table = pl.read_csv("pools.csv")
    counts = dict(table.group_by("before").len().iter_rows())
    assert counts == {"alone": 3 * 3 * 3, "vanilla": 3 * 3 * 3, "radar": 3 * 3 * 3}
    assert {
        "contender",
        "condition",
        "poison_recall",
        "ndcg",
        "passes",
        "fooled",
    } <= set(table.columns)
    assert "hotflip:steps=2" in set(table["condition"])
    Path("out/report.html").unlink()
    commands.run("report", "out")
    assert Path("out/report.html").exists()


def test_results_as_json(questions: Path) -> None:
    result = run("--dataset", questions, "--attacks", "injection", "--rerankers", "grada",
                 "--answers", "none", "--split", "all", "--limit", 2, "--dry-run", "--json",
                 "--out", "out")  # fmt: skip
    told = json.loads(result.stdout)
    assert [one["pools"] for one in told["results"]["conditions"]] == [2, 2]
    assert [spec["name"] for spec in told["record"]["rerankers"]] == ["none", "grada"]
    assert told["results"]["answers"] == {}


def test_attacks_on_the_generator_have_the_one_that_answers(
    questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LIAR asks it how probable its target is."""
    asked: list[object] = []
    plain = ScriptedTokens.log_probs

    def noted(self: ScriptedTokens, queries: Sequence[ContinuationQuery]) -> list[FloatArray]:
        asked.extend(queries)
        return plain(self, queries)

    monkeypatch.setattr(ScriptedTokens, "log_probs", noted)
    run("--dataset", questions, "--attacks", "liar", "--rerankers", "none", "--answers",
                 "none", "--split", "all", "--limit", 1, "--dry-run", "--out", "out")  # fmt: skip
    assert asked


def test_wrong_usage_is_told(questions: Path) -> None:
    for words, message in {
        "--attacks pia": "no attack 'pia' on a corpus",
        "--rerankers nobody": "nobody",
        "--rerankers=": "no reranker is named",
        "--rerankers prog_rank:beauty=1": "beauty",
        "--answers nobody": "no defence 'nobody'",
    }.items():
        wrong = ("--dataset", questions, "--dry-run", "--out", "out", *words.split())
        assert message in str(run(*wrong, exit_code=1).exception)
