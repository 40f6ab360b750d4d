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


def altered(answers: Path, target: Path, **changes: object) -> Path:
    """A copy of which the first answer has other values under `verdict`."""
    first, *others = answers.read_text("utf-8").splitlines()
    event = json.loads(first)
    event["data"]["verdict"] |= changes
    target.write_text("\n".join([json.dumps(event), *others]), "utf-8")
    return target


def test_answers_of_a_replay_are_right(answers: Path) -> None:
    result = run("verify", answers, "--all")
    assert "4 answers, 0 with a mismatch" in result.stdout
    assert "Not checked, since it takes the pages: sources.title, sources.url" in result.stdout
    assert "the rules in force are settings: defense, options" in result.stdout
    found = json.loads(run("verify", answers, "--json").stdout)
    assert "verdict.answer" in found["not_checked"]
    assert found["wrong"] == 0
    checks = ("envelope", "record", "energy", "verdict", "support", "status")
    assert found["checks"] == {name: {"right": 4} for name in checks}


def test_an_altered_energy_is_found(answers: Path, tmp_path: Path) -> None:
    result = run("verify", altered(answers, tmp_path / "a.jsonl", energy=9.5), exit_code=1)
    assert "1 with a mismatch" in result.stdout
    assert "9.5" in result.stdout


def test_a_forged_status_and_forged_support_are_found(answers: Path, tmp_path: Path) -> None:
    for field, value, told in (
        ("status", "disputed", "disputed is recorded, it is"),
        ("support", {"sites_for": 9}, "9 sites for it"),
    ):
        first = json.loads(answers.read_text("utf-8").splitlines()[0])
        held = first["data"][field]
        first["data"][field] = held | value if isinstance(value, dict) else value
        file = tmp_path / f"{field}.jsonl"
        file.write_text(json.dumps(first), "utf-8")
        result = run("verify", file, exit_code=1)
        assert told in " ".join(result.stdout.split())
        assert json.loads(run("verify", file, "--json", exit_code=1).stdout)["checks"][field] == {
            "wrong": 1
        }


def test_bare_events_and_other_events_may_be_in_the_file(answers: Path, tmp_path: Path) -> None:
    first = answers.read_text("utf-8").splitlines()[0]
    file = tmp_path / "mixed.jsonl"
    rejected = (answers.parent / "attribution.jsonl").read_text("utf-8")
    file.write_text(json.dumps(json.loads(first)["data"]) + "\n\n" + rejected, "utf-8")
    assert "1 answer, 0 with" in run("verify", file).stdout


@pytest.mark.parametrize(
    ("content", "told"), [("{", "line 1"), ('{"schema": "answer.defended/1"}', "line 1")]
)
def test_damaged_lines_are_named(content: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "damaged.jsonl"
    file.write_text(content, "utf-8")
    code, error = refused("verify", file)
    assert code
    assert told in error


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    code, error = refused("verify", tmp_path / "none.jsonl")
    assert code
    assert "none.jsonl" in error


def test_a_file_without_answers_is_not_right(answers: Path) -> None:
    code, error = refused("verify", answers.parent / "snapshots.jsonl")
    assert code
    assert "no answers" in error
