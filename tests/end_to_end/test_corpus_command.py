"""`radarstream corpus` as a user types it."""

import gzip
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from radarstream.pipelines.cli.app import app
from radarstream.schemas.errors import ConfigurationError, RadarstreamError

LINES = [
    '{"id": "k1", "text": "Ada is the mayor.", "title": "News", "url": "https://a.example/1"}',
    '{"text": "Paris is in France.", "metadata": {"any": 1}}', "{broken", '{"title": "no text"}',
    '{"text": 7}', '{"text": "nul \\u0000"}', '{"text": "lone \\ud800"}',
    '{"id": "", "text": "x"}', "", '{"text": "' + "x" * 2_000 + '"}',
]  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / "settings.toml"
    database = f'database = "sqlite:///{tmp_path / "state.db"}"'
    file.write_text(f'profile = "scripted"\n{database}\n[limits]\ndocument_bytes = 1000\n')
    return file


def run(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["corpus", *arguments, "--config", str(config)])


def figures(config: Path, *arguments: str) -> dict:
    result = run(config, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_file_of_texts_is_added_and_bad_lines_are_told(config: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl.gz"
    file.write_bytes(gzip.compress("\n".join(LINES).encode()))
    result = run(config, "add", str(file))
    assert result.exit_code == 0
    assert "2 new texts, 0 known, 7 bad lines" in result.stdout
    told = re.findall(r"^line (\d+):", result.stderr, re.MULTILINE)
    assert told == ["3", "4", "5", "6", "7", "8", "10"]
    again = figures(config, "add", str(file))
    assert (again["new"], again["known"], again["bad_lines"]) == (0, 2, 7)
    assert again["bad"][1] == {"number": 4, "reason": "missing_field: there is no text"}


def test_a_file_without_a_text_is_an_error_and_a_repeated_text_is_known(config, tmp_path) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text("nothing\n")
    assert isinstance(run(config, "add", str(file)).exception, RadarstreamError)
    missing = run(config, "add", str(tmp_path / "missing")).exception
    assert isinstance(missing, ConfigurationError) and "missing: No such file" in str(missing)
    file.write_text("\n".join(LINES[1:2] * 3))
    told = figures(config, "add", str(file))
    assert (told["new"], told["known"]) == (1, 2)


@pytest.fixture
def filled(config: Path, tmp_path: Path) -> Path:
    file = tmp_path / "texts.jsonl"
    file.write_text("\n".join(LINES[:2]) + '\n{"text": "hostile [red]page[/red] \\u202e"}\n')
    assert run(config, "add", str(file)).exit_code == 0
    return config


def test_texts_are_embedded_searched_and_listed(filled: Path) -> None:
    assert figures(filled, "stats")["waiting_for_embedding"] == 3
    assert figures(filled, "embed")["embedded"] == 3
    found = figures(filled, "search", "News\nAda is the mayor.", "-k", "2")["texts"]
    assert (found[0]["rank"], found[0]["url"]) == (1, "https://a.example/1")
    assert (found[0]["similarity"], len(found)) == (pytest.approx(1.0), 2)
    listed = {text["name"]: text for text in figures(filled, "list")["texts"]}
    assert (listed["k1"]["own"], listed["k1"]["queries"]) == (True, [])
    assert figures(filled, "stats")["embedded"] == 3


def test_tables_show_page_text_as_text(filled: Path) -> None:
    for command in (["search", "x"], ["list"]):
        printed = run(filled, *command).stdout
        assert "hostile [red]page[/red]" in printed and "\u202e" not in printed
    assert isinstance(run(filled, "search", " ").exception, ConfigurationError)


def test_texts_are_removed_by_id_own_id_and_address(filled: Path) -> None:
    assert figures(filled, "remove", "k1") == {"deleted": 1}
    assert isinstance(run(filled, "remove", "k1").exception, RadarstreamError)
    for wrong in ([], ["--url-prefix", "x"]):
        assert isinstance(run(filled, "remove", *wrong).exception, ConfigurationError)
    (id_, _) = [text["id"] for text in figures(filled, "list")["texts"]]
    assert figures(filled, "remove", id_) == {"deleted": 1}
    assert figures(filled, "stats")["texts"] == 1


def test_pruning_spares_what_a_user_added(filled: Path) -> None:
    assert figures(filled, "prune") == {"deleted": 0}
    rebuilt = {"embedded": 3, "dropped": 0, "model": "scripted/3"}
    assert figures(filled, "embed", "--rebuild") == rebuilt
