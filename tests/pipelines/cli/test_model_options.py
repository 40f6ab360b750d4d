"""--model and --base-url: on every command that answers, with the same meaning in the library."""

import inspect
from importlib import import_module
from pathlib import Path

import pytest
from typer import BadParameter

from radarstream import Replay
from radarstream.pipelines.cli.commands import COMMANDS
from radarstream.pipelines.cli.options import model_settings
from radarstream.pipelines.settings import OpenAiGenerator

LOCAL = "http://127.0.0.1:11434/v1"


def parameters(command: str) -> set[str]:
    module, name = COMMANDS[command].split(":")
    found = getattr(import_module(f"radarstream.pipelines.cli.{module}"), name)
    return set(inspect.signature(found).parameters) if inspect.isfunction(found) else set()


@pytest.mark.parametrize("command", COMMANDS)
def test_who_takes_a_profile_takes_a_model(command: str) -> None:
    found = parameters(command) & {"profile", "model", "base_url"}
    assert found in (set(), {"profile", "model", "base_url"})


def test_the_commands_that_answer_take_a_model() -> None:
    answering = {"replay", "run", "submit", "attribute", "doctor", "evaluate"}
    answering |= {"evaluate-attribution", "evaluate-sources"}
    assert {command for command in COMMANDS if "model" in parameters(command)} == answering


def test_a_model_selects_the_profile_api(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    settings = model_settings(None, None, "qwen3:8b", LOCAL)
    assert settings.profile == "api"
    assert isinstance(settings.generator, OpenAiGenerator)
    assert (settings.generator.model, settings.generator.base_url) == ("qwen3:8b", LOCAL)
    assert settings.generator.api_key_variable == ""  # none is set, and a local server wants none


def test_a_model_wins_over_a_settings_file_and_keeps_its_sections(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(
        'profile = "embedded"\n[generator]\nkind = "llama_cpp"\nslots = 4\n[batch]\nsnapshots = 3\n'
    )
    settings = model_settings(file, None, "small", LOCAL)
    assert isinstance(settings.generator, OpenAiGenerator)
    assert settings.batch.snapshots == 3


def test_a_model_keeps_what_a_file_says_of_its_service(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('profile = "api"\n[generator]\nkind = "openai"\nconcurrency = 3\n')
    generator = model_settings(file, None, "small", None).generator
    assert isinstance(generator, OpenAiGenerator)
    assert (generator.model, generator.concurrency) == ("small", 3)


def test_commands_and_library_mean_the_same(tmp_path: Path) -> None:
    typed = model_settings(None, None, "small", LOCAL)
    called = Replay("history.json", out=tmp_path, model="small", base_url=LOCAL).settings
    assert called.model_dump(exclude={"database"}) == typed.model_dump(exclude={"database"})


def test_a_dry_run_asks_no_model() -> None:
    assert model_settings(None, "api", None, None, dry_run=True).profile == "scripted"
    with pytest.raises(BadParameter, match="--dry-run asks no model"):
        model_settings(None, None, "small", None, dry_run=True)
