"""`radarstream evaluate` retrieval, attribution and service, as a user meets them."""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from radarstream.connectors.models.scripted import ScriptedTokens
from radarstream.lab.cli.kinds import KINDS
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.evidence import FloatArray
from radarstream.schemas.prompt import ContinuationQuery
from tests import commands

pytestmark = pytest.mark.usefixtures("own_directory")
run = partial(commands.run, "evaluate")
RUNS: dict[str, tuple[str, set[str], set[str]]] = {
    "retrieval": (
        "--attacks poisonedrag,hotflip --attack-steps 2 --rerankers prog_rank:runs=3,grada "
        "--split all --pool 6 --keep 2",
        {"none", "grada", "prog_rank:runs=3"},
        {"poison_recall", "ndcg", "passes", "fooled"},
    ),
    "attribution": (
        "--attacks injection,clean -k 2",
        set(),
        {"condition", "query_id", "tp", "seconds"},
    ),
    "service": (
        "--attacks poisoning:several=2,leakage,mba --policies adaptive,static:trustrag -k 2 "
        "--members 2 --non-members 1",
        {"none", "adaptive", "static:trustrag"},
        {"leaked", "recall_lex"},
    ),
}


@pytest.mark.parametrize("kind", RUNS)
def test_a_dry_run_writes_everything_and_a_second_one_adds_nothing(
    kind: str, questions: Path
) -> None:
    options, contenders, columns = RUNS[kind]
    words = (kind, "--dataset", questions, *options.split(), "--dry-run", "--out", "out")
    first = run(*words)
    assert "report: out/report.html" in first.output and "tables: out/tables.md" in first.output
    files = KINDS[kind][1].files.values()
    rows = {name: Path("out", name).read_bytes() for name in files}
    assert all(rows.values())
    assert {"results.json", "study.json"} < {path.name for path in Path("out").iterdir()}
    run(*words, "--table", "rows.csv")
    assert rows == {name: Path("out", name).read_bytes() for name in files}
    table = pl.read_csv("rows.csv", infer_schema_length=None)
    assert contenders <= set(table["contender"]) and columns <= set(table.columns)
    record = json.loads(Path("out/study.json").read_text())
    assert record["command"].startswith(f"radarstream evaluate {kind} --dataset")
    assert record["left"] == 0
    Path("out/report.html").unlink()
    commands.run("report", "out")
    assert Path("out/report.html").exists()


def test_results_as_json(questions: Path) -> None:
    def told(words: str) -> Any:
        options = ("--limit", 2, "--dry-run", "--json", "--out", words.split()[0])
        return json.loads(run(*words.split(), "--dataset", questions, *options).stdout)

    found = told("attribution --attacks clean --attributors rag_origin,norm")
    assert [scores["questions"] for scores in found["results"]["scenarios"]] == [2, 2, 2]
    assert [one["name"] for one in found["record"]["methods"]] == ["rag_origin", "norm"]
    found = told("retrieval --attacks injection --rerankers grada --answers none --split all")
    assert [one["pools"] for one in found["results"]["pools"]] == [2, 2]
    assert [one["name"] for one in found["record"]["methods"]] == ["none", "grada"]
    assert found["results"]["answers"] == {}
    found = told("service --attacks leakage --policies none --judge own")
    assert [one["questions"] for one in found["results"]["streams"]] == [2, 2]
    assert found["record"]["facts"]["defence"] == "vanilla"


@pytest.mark.parametrize(
    ("words", "message"),
    {
        "retrieval --attacks pia": "no attack 'pia' on a corpus",
        "retrieval --rerankers nobody": "nobody",
        "retrieval --rerankers=": "no reranker is named",
        "retrieval --rerankers prog_rank:beauty=1": "beauty",
        "retrieval --answers nobody": "no defence 'nobody'",
        "attribution --attacks pia": "attacks result lists",
        "attribution --attacks nonsense": "unknown attack",
        "attribution --attributors nobody": "no attributor named",
        "attribution --attributors norm:beauty=1": "beauty",
        "service --attacks nonsense": "no attack",
        "service --policies nobody": "no policy",
        "service --defense nobody": "nobody",
        "service --half development --split tuning --limit 1": "nothing to ask",
    }.items(),
)
def test_wrong_usage_is_told(questions: Path, words: str, message: str) -> None:
    wrong = (*words.split(), "--dataset", questions, "--dry-run", "--out", "out")
    assert message in str(run(*wrong, exit_code=1).exception)


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
    words = "--attacks liar --rerankers none --answers none --split all --limit 1 --dry-run"
    run("retrieval", "--dataset", questions, *words.split(), "--out", "out")
    assert asked


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
    words = ("attribution", "--dataset", targets(tmp_path / "targets.json"), "--attacks",
             "poisonedrag,injection", "--dry-run", "--limit", 2, "--out", "out")  # fmt: skip
    said = run(*words).stderr.replace("\n", " ")
    assert "note: the questions bring no documents" in said
    assert "norm is left out: norm takes its threshold from benign texts" in said
    record = json.loads(Path("out/study.json").read_text())
    assert (record["facts"]["texts of the corpus"], len(record["asked"])) == (0, 2)
    assert "rag_origin" in {spec["name"] for spec in record["methods"]}
    assert len(Path("out/events.jsonl").read_text().splitlines()) == 4
    refused = run(*words, "--attributors", "norm", exit_code=1)
    assert isinstance(refused.exception, ConfigurationError)
    assert "name a data set that has some as another --dataset" in str(refused.exception)


def test_targets_are_put_to_the_corpus_of_another_data_set(tmp_path: Path, questions: Path) -> None:
    run("attribution", "--dataset", targets(tmp_path / "targets.json"), "--dataset", questions,
        "--attacks", "poisonedrag", "--attributors", "norm", "--limit", 2, "--dry-run",
        "--out", "out")  # fmt: skip
    record = json.loads(Path("out/study.json").read_text())
    assert (record["facts"]["texts of the corpus"], len(record["asked"])) == (12, 2)
    assert "norm come from 12 benign texts" in " ".join(record["notes"])
