"""The answers of a replay on the terminal."""

import re
from dataclasses import replace

import pytest
from rich.console import Console

from radarstream.lab.api import Replay
from radarstream.lab.cli.answers_table import print_scored
from radarstream.lab.simulation.history import SimulationOptions, write_history
from radarstream.pipelines.job.replaying.running import Results
from radarstream.schemas.support import AnswerStatus

SINGLE = "single source"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    directory = tmp_path_factory.mktemp("replay")
    options = SimulationOptions(questions=3, min_snapshots=4, max_snapshots=4)
    write_history(directory / "history.json", options)
    return Replay(
        directory / "history.json",
        out=directory / "out",
        attack="pia@1:every-2",
        profile="scripted",
    ).run()


def shown(results: Results, width: int, monkeypatch: pytest.MonkeyPatch) -> str:
    console = Console(width=width)
    monkeypatch.setattr("radarstream.pipelines.cli.terminal.stdout", console)
    monkeypatch.setattr("radarstream.lab.cli.answers_table.stdout", console)
    with console.capture() as captured:
        print_scored(results)
    return captured.get()


def test_every_answer_shows_its_status_on_a_narrow_terminal(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses = (AnswerStatus.SINGLE_SOURCE, AnswerStatus.ABSTAINED, AnswerStatus.REMEMBERED)
    answers = [
        replace(answer, status=status)
        for answer, status in zip(results.answers, statuses, strict=False)
    ]
    text = shown(replace(results, answers=answers + results.answers[3:]), 80, monkeypatch)
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[1].split()[-3:] == ["status", "cut", "memory"]
    at = lines[1].index("status")
    dated = [line for line in lines if re.match(r"\d{4}-\d\d-\d\d ", line)]
    assert len(dated) == len(results.answers)
    for line, status in zip(dated, ("single source", "no answer", "remembered"), strict=False):
        assert line[at:].startswith(status)
    for question in {answer.question for answer in results.answers}:
        assert question in lines  # whole, on a line of its own


def test_columns_that_would_be_empty_are_left_out(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "undefended" in shown(results, 80, monkeypatch)
    bare = [replace(answer, undefended_answer=None) for answer in results.answers]
    snapshots = {key: replace(s, labels=None) for key, s in results.snapshots.items()}
    text = shown(replace(results, answers=bare, snapshots=snapshots), 80, monkeypatch)
    assert text.splitlines()[1].split() == ["as", "of", "defended", "status", "cut", "memory"]
