"""`radarstream verify` over what replays write."""

import json
from pathlib import Path

import pytest

from tests.commands import refused, run

SNAPSHOTS = "simulate --questions 2 --snapshots 2-2 --seed 3 --out"


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The answers of a replay under attack."""
    directory = tmp_path_factory.mktemp("verify")
    history, out = directory / "history.json", directory / "out"
    run(*SNAPSHOTS.split(), history)
    run("replay", history, "--dry-run", "--attack", "poison@1:every-2", "--out", out)
    return out / "answers.jsonl"


def test_answers_of_a_replay_are_right(answers: Path) -> None:
    result = run("verify", answers, "--all")
    assert "4 answers, 0 with a mismatch" in result.stdout
    pages = result.stdout.partition("a check needs the pages: ")[2].partition("; ")[0]
    assert {"verdict.documents.excerpt", "sources.title", "sources.url"} <= set(pages.split(", "))
    assert "an input: the settings: defense, options" in result.stdout
    found = json.loads(run("verify", answers, "--json").stdout)
    assert "verdict.answer" in found["not_checked"]
    assert found["wrong"] == 0
    checks = ("envelope", "record", "energy", "verdict", "support", "status")
    assert found["checks"] == {name: {"right": 4} for name in checks}


def test_a_forged_answer_is_found(answers: Path, tmp_path: Path) -> None:
    """What is found in which field: `tests/pipelines/cli/test_verify.py`."""
    event = json.loads(answers.read_text("utf-8").splitlines()[0])
    event["data"]["verdict"]["energy"] = 9.5
    event["data"]["status"] = "disputed"
    file = tmp_path / "forged.jsonl"
    file.write_text(json.dumps(event), "utf-8")
    told = " ".join(run("verify", file, exit_code=1).stdout.split())
    for words in ("1 with a mismatch", "9.5", "disputed is recorded, corroborated computed"):
        assert words in told
    checks = json.loads(run("verify", file, "--json", exit_code=1).stdout)["checks"]
    assert checks["energy"] == checks["status"] == {"wrong": 1}


def test_bare_events_and_other_events_may_be_in_the_file(answers: Path, tmp_path: Path) -> None:
    first = answers.read_text("utf-8").splitlines()[0]
    file = tmp_path / "mixed.jsonl"
    rejected = (answers.parent / "attribution.jsonl").read_text("utf-8")
    file.write_text(json.dumps(json.loads(first)["data"]) + "\n\n" + rejected, "utf-8")
    assert "1 answer, 0 with" in run("verify", file).stdout


def test_what_cannot_be_read_or_holds_no_answer_is_refused(answers: Path, tmp_path: Path) -> None:
    files = {
        "none.jsonl": (None, "none.jsonl"),
        "broken.jsonl": ("{", "line 1"),
        "empty.jsonl": ('{"schema": "answer.defended/1"}', "line 1"),
        "other.jsonl": ((answers.parent / "snapshots.jsonl").read_text("utf-8"), "no answers"),
    }
    for name, (content, told) in files.items():
        if content is not None:
            (tmp_path / name).write_text(content, "utf-8")
        code, error = refused("verify", tmp_path / name)
        assert code
        assert told in error
