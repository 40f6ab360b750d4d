"""--reranker and --keep as a user types them: replay, evaluate, corpus search; who takes them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from radarstream.lab.methods.prog_rank import ProgRank
from radarstream.pipelines.build import build_reranker_of
from radarstream.pipelines.cli.options import RerankerOptions
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import decode_answer, decode_rejected, encode
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.snapshot import Labels
from tests.commands import refused, run
from tests.pipelines.cli.test_model_options import PARAMETERS
from tests.reranking import crowd


@pytest.fixture
def history(tmp_path: Path) -> Path:
    snapshot = crowd(12)
    labels = Labels(("Rome",), target="Oslo", attack="poison", poisoned_ranks=(2, 5))
    snapshot = replace(snapshot, labels=labels)
    file = tmp_path / "history.jsonl"
    file.write_bytes(encode(snapshot) + b"\n")
    return file


def test_a_replay_judges_what_the_reranker_keeps(history: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = ("--dry-run", "--reranker", "prog_rank", "--keep", 4, "--baselines", "majority")
    shown = run("replay", history, *options, "--out", out)
    assert "prog_rank dropped 8 of 12 candidates (8 outranked)" in shown.output
    assert "poison@2+5" in shown.output  # where they were planted
    (line,) = (out / "answers.jsonl").read_bytes().splitlines()
    event = decode_answer(line)
    assert event.reranking is not None
    assert (len(event.reranking.kept), len(event.reranking.candidates)) == (4, 12)
    assert {judged.rank for judged in event.seen} <= {1, 2, 3, 4}
    lines = (out / "attribution.jsonl").read_bytes().splitlines()
    told = [decode_rejected(line) for line in lines]
    assert sum(rejected.reason == "outranked" for rejected in told) == 8
    assert "0 with a mismatch" in run("verify", out / "answers.jsonl").output
    (baseline,) = (json.loads(line) for line in (out / "baselines.jsonl").open())
    assert len(baseline["verdict"]["documents"]) == 4
    other = (*options[:4], 5, "--resume", "--out", out)  # another number is another replay
    code, why = refused("replay", history, *other)
    assert code == 2
    assert "retrieval.keep" in why


def test_a_reranker_that_cannot_be_is_refused_at_once(history: Path, tmp_path: Path) -> None:
    for reranker, told in {
        "nobody": "prog_rank",
        "": "--keep says nothing",
        "prog_rank:layer=99": "less than 64",
    }.items():
        options = ("--reranker", reranker, "--keep", 3, "--out", tmp_path / "out")
        code, error = refused("replay", history, "--dry-run", *options)
        assert code == 2
        assert told in error


def test_a_study_says_who_chose_the_documents(history: Path, tmp_path: Path) -> None:
    out = tmp_path / "study"
    run("evaluate", "--dataset", history, "--dry-run", "--defenses", "vanilla,radar", "--attacks",
        "", "-k", 12, "--reranker", "grada", "--keep", 5, "--out", out)  # fmt: skip
    record = json.loads((out / "study.json").read_text())
    assert '"name":"grada"' in record["facts"]["reranker"]
    assert any("grada chose at most 5 documents" in note for note in record["notes"])
    (evidence,) = (json.loads(line) for line in (out / "evidence.jsonl").open())
    assert len(evidence["documents"]) == 5
    assert len(evidence["reranking"]["candidates"]) == 12
    rows = [json.loads(line) for line in (out / "rows.jsonl").open()]
    assert {row["error"] for row in rows} == {None}
    assert "chose at most 5 documents" in (out / "report.html").read_text()


def test_options_are_for_a_reranker(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match=r"retrieval.*`options` are set without a `name`"):
        load_settings(retrieval={"options": {"runs": 5}})
    monkeypatch.setenv("RADARSTREAM_RETRIEVAL__OPTIONS__RUNS", "5")
    with pytest.raises(ConfigurationError, match="without a `name`"):
        load_settings()
    monkeypatch.setenv("RADARSTREAM_RETRIEVAL__NAME", "prog_rank")
    monkeypatch.setenv("RADARSTREAM_RETRIEVAL__OPTIONS__DISTURBANCE", "tokens")
    assert build_reranker_of(load_settings()) == ProgRank(runs=5, disturbance="tokens")
    monkeypatch.setenv("RADARSTREAM_RETRIEVAL__OPTIONS__RUNS", '"5"')  # a text, as in a file
    with pytest.raises(ConfigurationError, match="runs"):
        build_reranker_of(load_settings())


def test_noise_is_for_studies_and_the_service() -> None:
    with pytest.raises(ConfigurationError, match="`dp_rag` has no use here"):
        load_settings(profile="scripted", retrieval={"name": "dp_rag"})


def test_titles_are_cited_at_a_bounded_length(history: Path, tmp_path: Path) -> None:
    """A title of 900 kB costs an event 1,000 characters, whether its document is kept or not."""
    snapshot = crowd(4)
    long = tuple(replace(d, title="t" * 900_000) for d in snapshot.documents)
    history.write_bytes(encode(replace(snapshot, documents=long)) + b"\n")
    options = ("--reranker", "none", "--keep", 2, "--baselines", "")
    run("replay", history, "--dry-run", *options, "--out", tmp_path / "out")
    (line,) = (tmp_path / "out" / "answers.jsonl").read_bytes().splitlines()
    event = decode_answer(line)
    assert [len(source.title) for source in event.sources] == [1_000] * 4
    told = (tmp_path / "out" / "attribution.jsonl").read_bytes().splitlines()
    assert all(len(decode_rejected(line).title) == 1_000 for line in told)
    assert len(line) < 20_000


def test_who_answers_takes_a_reranker() -> None:
    for command in ("replay", "run", "submit"):
        assert {"reranker", "keep"} <= PARAMETERS[command]


def test_options_of_one_reranker_are_not_given_to_another() -> None:
    options = {"name": "prog_rank", "options": {"runs": 5}, "keep": 7}
    settings = load_settings(profile="scripted", retrieval=options)
    assert RerankerOptions(None, None).over(settings) is settings
    assert RerankerOptions("prog_rank", 3).over(settings).retrieval.options == {"runs": 5}
    other = RerankerOptions("grada", None).over(settings).retrieval
    assert (other.name, other.options, other.keep) == ("grada", {}, 7)
    assert RerankerOptions("", None).over(settings).retrieval.name == ""
    dense = RerankerOptions("grada:likeness=dense,alpha=0.2", None).over(settings).retrieval
    assert (dense.name, dense.options) == ("grada", {"likeness": "dense", "alpha": 0.2})
    assert RerankerOptions("prog_rank:runs=9", None).over(settings).retrieval.options == {"runs": 9}
    with pytest.raises(ConfigurationError, match="write it like"):
        RerankerOptions("grada:dense", None).over(settings)
