"""A replay that is killed at any moment and resumed has the results of an undisturbed one."""

import json
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from radarstream.connectors.files import jsonl_sink
from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.lab import replay
from tests.commands import run
from tests.programs import die_at, started

FILES = ("answers.jsonl", "attribution.jsonl", "deadletter.jsonl", "snapshots.jsonl")
PLACES: dict[str, tuple[Any, str, int]] = {  # whose function dies, at which call
    "later documents": (ScriptedGenerator, "complete", 4),
    "between two files": (jsonl_sink._EventFile, "append", 2),
    "writing baselines": (Path, "replace", 4),
    "before the report": (replay, "write_report", 1),
}


def die_in(place: str) -> None:
    """Have the process killed in a place."""
    die_at(*PLACES[place])


def rows(file: Path) -> list[dict[str, Any]]:
    """The rows of baselines without what they took."""
    told = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    return [{name: held for name, held in row.items() if name != "cost"} for row in told]


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("history") / "history.json"
    run("simulate", "--questions", "4", "--snapshots", "3-3", "--seed", "5", "--out", file)
    return file


def command(history: Path, out: Path) -> list[str]:
    baselines = "majority,majority:memory=true"
    options = ["--dry-run", "--baselines", baselines, *["--attack", "poison@2:every-2"]]
    return ["replay", str(history), *options, "--out", str(out)]


@pytest.fixture(scope="module")
def undisturbed(history: Path) -> Path:
    out = history.parent / "undisturbed"
    run(*command(history, out))
    return out


@pytest.mark.parametrize("place", PLACES)
def test_killed_and_resumed(history: Path, undisturbed: Path, tmp_path: Path, place: str) -> None:
    out, said = tmp_path / "out", tmp_path / "said"
    with started(*command(history, out), out=said, first=partial(die_in, place)) as running:
        assert running.wait(60) == -signal.SIGKILL, said.read_text()
    assert not (out / "baselines.jsonl").exists() or place == "before the report"
    run(*command(history, out), "--resume")
    for name in FILES:
        found, wanted = ((where / name).read_bytes().splitlines() for where in (out, undisturbed))
        assert sorted(found) == sorted(wanted), name
    assert rows(out / "baselines.jsonl") == rows(undisturbed / "baselines.jsonl")
    assert json.loads(run("verify", out / "answers.jsonl", "--json").stdout)["wrong"] == 0
