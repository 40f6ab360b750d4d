"""Replays and studies from Python give what the commands give."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from radarstream.lab.api import Replay, Study
from radarstream.lab.simulation.history import SimulationOptions, write_history
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.codec import encode
from radarstream.schemas.errors import ConfigurationError
from tests.builders import make_snapshot


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("history") / "history.json"
    write_history(path, SimulationOptions(questions=2, min_snapshots=3, max_snapshots=3, k=4))
    return path


def test_a_replay_answers_as_the_command_does(history: Path, tmp_path: Path) -> None:
    replay = Replay(history, out=tmp_path / "one", attack="pia@1:every-2", profile="scripted")
    results = replay.run()
    assert results.frame.height == 2 * len(results.answers) == 12  # defended and undefended
    assert replay.report is not None and replay.report.exists()
    typed = ["replay", str(history), "--out", str(tmp_path / "two"), "--dry-run"]
    assert CliRunner().invoke(app, [*typed, "--attack", "pia@1:every-2"]).exit_code == 0
    answers = [(tmp_path / name / "answers.jsonl").read_text() for name in ("one", "two")]
    assert answers[0] == answers[1]


def test_the_report_shows_what_was_read_of_a_long_page(tmp_path: Path) -> None:
    first, last = (
        "".join(f"On day {day} the weather stayed. " for day in range(start, start + 100))
        for start in (100, 200)
    )
    page = f"{first}The winner of the cup was Lima. {last}Far from it all."
    snapshot = make_snapshot([page, "The winner of the cup was Lima."])
    history = tmp_path / "history.jsonl"
    history.write_bytes(encode(snapshot) + b"\n")
    config = tmp_path / "radarstream.toml"
    config.write_text("[reading]\nwindows = 2\n")
    out = tmp_path / "out"
    Replay(history, out=out, profile="scripted", settings=config).run()
    shown = (out / "report.html").read_text("utf-8")
    assert shown.count("show what was read, without 5,") == 1
    assert shown.count("show text") == 1
    assert "Far from it all" not in shown
    (out / "report.html").unlink()
    assert CliRunner().invoke(app, ["report", str(out)]).exit_code == 0
    assert (out / "report.html").read_text("utf-8") == shown


def test_a_study_goes_on_and_refuses_another(history: Path, tmp_path: Path) -> None:
    def study(**changed: object) -> Study:
        options: dict[str, object] = {"defenses": "radar,vanilla", "positions": [1], "k": 4}
        return Study([history], out=tmp_path, profile="scripted", **options | changed)  # type: ignore[arg-type]

    first = study()
    table = first.run()
    # two defences, three conditions, two questions of three steps
    assert table.height == 36
    assert set(table["contender"]) == {"radar", "vanilla"}
    assert first.report is not None and first.report.exists()
    assert first.board is not None
    assert first.board.groups == ("benign", "pia@1", "poison@1", "all attacks")
    lines = (tmp_path / "rows.jsonl").read_text()
    assert study().run().equals(table)
    assert (tmp_path / "rows.jsonl").read_text() == lines
    record = json.loads((tmp_path / "study.json").read_text())
    assert record["command"] == "radarstream.lab.api.Study"
    with pytest.raises(ConfigurationError):
        study(k=3).run()


def test_a_study_keeps_the_answers_where_its_settings_say(history: Path, tmp_path: Path) -> None:
    """In its own directory, unless settings, a file or the environment name a database."""
    named = f"sqlite:///{tmp_path / 'shared.sqlite'}"
    file = tmp_path / "settings.toml"
    file.write_text(f'profile = "scripted"\ndatabase = "{named}"\n')
    own = f"sqlite:///{tmp_path / 'state.sqlite'}"
    for settings, expected in (
        (load_settings(profile="scripted"), own),
        (load_settings(file), named),
        (file, named),
        (None, own),
    ):
        study = Study([history], out=tmp_path, settings=settings, profile="scripted")
        assert study.request.settings.database == expected


def test_a_study_asks_the_half_that_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "history.json"
    write_history(path, SimulationOptions(questions=6, min_snapshots=2, max_snapshots=2, k=2))
    asked = {}
    for half in ("development", "test"):
        study = Study(
            [path],
            out=tmp_path / half,
            profile="scripted",
            defenses="radar",
            positions=[1],
            half=half,
        )
        asked[half] = set(study.run()["query_id"])
        assert json.loads((tmp_path / half / "study.json").read_text())["half"] == half
    assert not asked["development"] & asked["test"]
    assert len(asked["development"] | asked["test"]) == 6
