"""`radarstream evaluate service` as a user meets it."""

import json
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from tests import commands

pytestmark = pytest.mark.usefixtures("own_directory")
run = partial(commands.run, "evaluate", "service")


def test_a_dry_run_writes_everything_and_a_second_one_adds_nothing(questions: Path) -> None:
    words = ("--dataset", questions, "--attacks", "poisoning:several=2,leakage,mba", "--policies",
             "adaptive,static:trustrag", "-k", 2, "--members", 2, "--non-members", 1, "--dry-run",
             "--out", "out")  # fmt: skip
    first = run(*words)
    assert "report: out/report.html" in first.output and "tables: out/tables.md" in first.output
    files = ("rows.jsonl", "questions.jsonl", "streams.jsonl", "probes.jsonl", "passages.jsonl")
    rows = {name: Path("out", name).read_bytes() for name in files}
    assert all(rows.values())
    names = {path.name for path in Path("out").iterdir()}
    assert {"report.html", "tables.md", "results.json", "study.json"} <= names
    run(*words, "--table", "replies.csv")
    assert rows == {name: Path("out", name).read_bytes() for name in files}
    table = pl.read_csv("replies.csv", infer_schema_length=None)
    asked = len(rows["questions.jsonl"].splitlines())
    assert table.height == 3 * asked
    assert set(table["contender"]) == {"none", "adaptive", "static:trustrag"}
    Path("out/report.html").unlink()
    commands.run("report", "out")
    assert Path("out/report.html").exists()


def test_results_as_json(questions: Path) -> None:
    result = run("--dataset", questions, "--attacks", "leakage", "--policies", "none", "--limit", 2,
                 "--judge", "own", "--dry-run", "--json", "--out", "out")  # fmt: skip
    told = json.loads(result.stdout)
    assert [one["questions"] for one in told["results"]["streams"]] == [2, 2]
    assert told["record"]["policies"] == ["none"]
    assert told["record"]["defense"] == "vanilla"


def test_what_cannot_be_asked_is_refused(questions: Path) -> None:
    for words, message in {
        "--attacks nonsense": "no attack",
        "--policies nobody": "no policy",
        "--defense nobody": "nobody",
        "--half development --split tuning --limit 1": "nothing to ask",
    }.items():
        wrong = ("--dataset", questions, *words.split(), "--dry-run", "--out", "out")
        assert message in str(run(*wrong, exit_code=1).exception)
