"""`radarstream evaluate service` as a user meets it."""

import json
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

from radarstream.pipelines import build
from radarstream.pipelines.cli.app import app

pytestmark = pytest.mark.usefixtures("own_directory")


def run(*words: object, command: str = "evaluate service") -> Result:
    build._engine.cache_clear()
    arguments = [*command.split(), *map(str, words)]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "argv", ["radarstream", *arguments])
        return CliRunner().invoke(app, arguments)


def test_a_dry_run_writes_everything_and_a_second_one_adds_nothing(questions: Path) -> None:
    words = ("--dataset", questions, "--attacks", "poisoning:several=2,leakage,mba", "--policies",
             "adaptive,static:trustrag", "-k", 2, "--members", 2, "--non-members", 1, "--dry-run",
             "--out", "out")  # fmt: skip
    first = run(*words)
    assert first.exit_code == 0, (first.output, first.exception)
    assert "report: out/report.html" in first.output and "tables: out/tables.md" in first.output
    files = ("rows.jsonl", "questions.jsonl", "streams.jsonl", "probes.jsonl", "passages.jsonl")
    rows = {name: Path("out", name).read_bytes() for name in files}
    assert all(rows.values())
    names = {path.name for path in Path("out").iterdir()}
    assert {"report.html", "tables.md", "results.json", "study.json"} <= names
    second = run(*words, "--table", "replies.csv")
    assert second.exit_code == 0, (second.output, second.exception)
    assert rows == {name: Path("out", name).read_bytes() for name in files}
    table = pl.read_csv("replies.csv", infer_schema_length=None)
    asked = len(rows["questions.jsonl"].splitlines())
    assert table.height == 3 * asked
    assert set(table["contender"]) == {"none", "adaptive", "static:trustrag"}
    Path("out/report.html").unlink()
    again = run("out", command="report")
    assert again.exit_code == 0 and Path("out/report.html").exists()


def test_results_as_json(questions: Path) -> None:
    result = run("--dataset", questions, "--attacks", "leakage", "--policies", "none", "--limit", 2,
                 "--judge", "own", "--dry-run", "--json", "--out", "out")  # fmt: skip
    assert result.exit_code == 0, (result.output, result.exception)
    told = json.loads(result.stdout)
    assert [one["questions"] for one in told["results"]["streams"]] == [2, 2]
    assert told["record"]["policies"] == ["none"]
    assert told["record"]["defense"] == "vanilla"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--attacks", "nonsense"), "no attack"),
        (("--policies", "nobody"), "no policy"),
        (("--defense", "nobody"), "nobody"),
        (("--half", "development", "--split", "tuning", "--limit", 1), "nothing to ask"),
    ],
)
def test_what_cannot_be_asked_is_refused(questions: Path, words: tuple, message: str) -> None:
    result = run("--dataset", questions, *words, "--dry-run", "--out", "out")
    assert result.exit_code != 0
    assert message in str(result.exception)
