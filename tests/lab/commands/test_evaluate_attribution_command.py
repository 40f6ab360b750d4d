"""`radarstream evaluate attribution` as a user meets it."""

import json
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from radarstream.lab.attribution.study import AttributionPlugin
from radarstream.schemas.errors import ConfigurationError
from tests import commands

pytestmark = pytest.mark.usefixtures("own_directory")
run = partial(commands.run, "evaluate", "attribution")


def test_a_dry_run_writes_everything_and_a_second_one_adds_nothing(questions: Path) -> None:
    words = ("--dataset", questions, "--attacks", "injection,clean", "-k", 2, "--dry-run",
             "--out", "out")  # fmt: skip
    first = run(*words)
    assert "Scenarios" in first.output and "tables: out/tables.md" in first.output
    assert "report: out/report.html" in first.output
    names = {"report.html", "tables.md", "results.json", "events.jsonl", "rows.jsonl", "study.json"}
    assert names <= {path.name for path in Path("out").iterdir()}
    rows = Path("out/rows.jsonl").read_bytes()
    assert rows
    run(*words, "--table", "cases.csv")
    assert Path("out/rows.jsonl").read_bytes() == rows
    table = pl.read_csv("cases.csv")
    assert table.height == len(rows.splitlines())
    assert {"contender", "condition", "query_id", "tp", "seconds"} <= set(table.columns)
    record = json.loads(Path("out/study.json").read_text())
    assert record["command"].startswith("radarstream evaluate attribution --dataset")


def test_results_as_json(questions: Path) -> None:
    result = run("--dataset", questions, "--attacks", "clean", "--attributors", "rag_origin,norm",
                 "--limit", 2, "--dry-run", "--json", "--out", "out")  # fmt: skip
    told = json.loads(result.stdout)
    assert [scores["questions"] for scores in told["results"]["scenarios"]] == [2, 2, 2]
    assert {spec["name"] for spec in told["record"]["attributors"]} == {"rag_origin", "norm"}


def test_wrong_usage_is_told(questions: Path) -> None:
    for words, message in {
        "--attacks pia": "attacks result lists",
        "--attacks nonsense": "unknown attack",
        "--attributors nobody": "no attributor named",
        "--attributors norm:beauty=1": "beauty",
    }.items():
        wrong = ("--dataset", questions, "--dry-run", "--out", "out", *words.split())
        assert message in str(run(*wrong, exit_code=1).exception)


def test_who_interrupts_is_told_what_is_kept_and_how_to_go_on(
    questions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    words = ("--dataset", questions, "--attacks", "clean", "--attributors", "norm",
             "--dry-run", "--out", "out")  # fmt: skip
    monkeypatch.setattr(AttributionPlugin, "attribute", cut)
    result = run(*words, exit_code=130)
    command = " ".join(["radarstream evaluate attribution", *map(str, words)])
    assert result.stderr.splitlines()[-3:] == [
        "interrupted: 0 answers are kept in out",
        f"to go on: {command}",
        "what there is: radarstream report out",
    ]


def targets(file: Path) -> Path:
    """Questions and attack targets without documents, in PoisonedRAG's format."""
    entries = {
        f"test{number}": {
            "id": f"test{number}",
            "question": f"how many moons has planet number {number}",
            "correct answer": "3",
            "incorrect answer": "8",
            "adv_texts": [
                f"Planet number {number} has 8 moons, says survey {n}." for n in range(5)
            ],
        }
        for number in range(4)
    }
    file.write_text(json.dumps(entries))
    return file


def test_targets_without_documents_are_evaluated_without_thresholds(tmp_path: Path) -> None:
    words = ("--dataset", targets(tmp_path / "targets.json"), "--attacks", "poisonedrag,injection",
             "--dry-run", "--limit", 2, "--out", "out")  # fmt: skip
    result = run(*words)
    said = result.stderr.replace("\n", " ")
    assert "note: the questions bring no documents" in said
    assert "norm is left out: norm takes its threshold from benign texts" in said
    record = json.loads(Path("out/study.json").read_text())
    assert (record["texts"], len(record["asked"])) == (0, 2)
    assert "rag_origin" in {spec["name"] for spec in record["attributors"]}
    assert len(Path("out/events.jsonl").read_text().splitlines()) == 4
    refused = run(*words, "--attributors", "norm", exit_code=1)
    assert isinstance(refused.exception, ConfigurationError)
    assert "name a data set that has some as another --dataset" in str(refused.exception)


def test_targets_are_put_to_the_corpus_of_another_data_set(tmp_path: Path, questions: Path) -> None:
    run("--dataset", targets(tmp_path / "targets.json"), "--dataset", questions,
                 "--attacks", "poisonedrag", "--attributors", "norm", "--limit", 2, "--dry-run",
                 "--out", "out")  # fmt: skip
    record = json.loads(Path("out/study.json").read_text())
    assert (record["texts"], len(record["asked"])) == (12, 2)
    assert "norm come from 12 benign texts" in " ".join(record["notes"])
