"""--model and --base-url: on every command that answers, with the same meaning in the library."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer import BadParameter
from typer.main import get_command

from radarstream import Guard
from radarstream.defenses.registry import build_defense
from radarstream.pipelines.build import build_methods
from radarstream.pipelines.cli.app import app
from radarstream.pipelines.cli.options import DryModelOptions, ModelOptions, RuleOptions
from radarstream.pipelines.settings import OpenAiGenerator, load_settings
from radarstream.schemas.errors import ConfigurationError
from tests.connectors.models.fault_server import FaultServer, serving
from tests.servers import free_port

LOCAL = "http://127.0.0.1:11434/v1"


COMMANDS = dict(get_command(app).commands)  # type: ignore[attr-defined]
COMMANDS |= {f"evaluate {kind}": command for kind, command in COMMANDS["evaluate"].commands.items()}
PARAMETERS = {
    name: {parameter.name for parameter in command.params} for name, command in COMMANDS.items()
}


def test_the_commands_that_answer_take_a_model() -> None:
    answering = {"ask", "check", "mcp", "replay", "run", "serve", "submit"}
    answering |= {"attribute", "doctor"}
    answering |= {name for name in COMMANDS if name.startswith("evaluate ")}
    every = {"config", "profile", "model", "base_url"}
    for command, found in PARAMETERS.items():
        assert found & every in (every if command in answering else set(), every & {"config"})


def generator(**options: Any) -> Any:
    """The generator of these options."""
    return ModelOptions(**options).settings().generator


def test_a_model_wins_over_a_settings_file_and_keeps_what_it_says_of_the_rest(tmp_path) -> None:
    file = tmp_path / "settings.toml"
    slots = '[generator]\nkind = "llama_cpp"\nslots = 4\n[batch]\nsnapshots = 3\n'
    file.write_text(f'profile = "embedded"\n{slots}')
    settings = ModelOptions(file, None, "small", LOCAL).settings()
    assert isinstance(settings.generator, OpenAiGenerator)
    assert settings.batch.snapshots == 3
    file.write_text('profile = "api"\n[generator]\nkind = "openai"\nconcurrency = 3\n')
    chosen = generator(config=file, model="small")
    assert isinstance(chosen, OpenAiGenerator)
    assert (chosen.model, chosen.concurrency) == ("small", 3)


def test_a_dry_run_asks_no_model() -> None:
    assert DryModelOptions(None, "api", dry_run=True).settings().profile == "scripted"
    with pytest.raises(BadParameter, match="--dry-run asks no model"):
        DryModelOptions(model="small", dry_run=True).settings()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving() as state:
        yield state


def test_the_only_model_of_a_service_answers_and_is_told(server, capsys) -> None:
    server.models = ("nomic-embed-text", "qwen3:8b")
    chosen = generator(base_url=server.url)
    assert isinstance(chosen, OpenAiGenerator)
    assert (chosen.model, chosen.base_url) == ("qwen3:8b", server.url)
    assert f"{server.url} has one model, qwen3:8b" in " ".join(capsys.readouterr().err.split())
    with Guard(base_url=server.url) as guard:
        assert guard.settings.generator == chosen


def test_a_service_of_several_models_or_none_answers_nothing(server: FaultServer) -> None:
    for names, said in (
        (("small", "large"), "has 2 models: small, large"),
        (("bge-m3",), "has no model that writes text"),
        (("x" * 101,), "has no model that writes text"),
        (tuple("abcdefg"), "has 7 models: a, b, c, d, e, …"),
    ):
        server.models = names
        with pytest.raises(ConfigurationError, match="--model NAME") as raised:
            generator(base_url=server.url)
        assert f"{server.url} {said};" in str(raised.value)
        with pytest.raises(ConfigurationError, match="--model NAME"):
            Guard(base_url=server.url)


def test_a_model_that_a_file_or_the_environment_names_is_kept(tmp_path, monkeypatch) -> None:
    dead = f"http://127.0.0.1:{free_port()}/v1"
    file = tmp_path / "settings.toml"
    file.write_text('profile = "api"\n[generator]\nkind = "openai"\nmodel = "mine"\n')
    assert generator(config=file, base_url=dead).model == "mine"
    for settings in (file, load_settings(file)):
        with Guard(settings=settings, base_url=dead) as guard:
            assert guard.settings.generator.model == "mine"  # type: ignore[union-attr]
    monkeypatch.setenv("RADARSTREAM_GENERATOR__MODEL", "theirs")
    assert generator(base_url=dead).model == "theirs"


def test_an_address_where_nobody_answers_is_named(tmp_path: Path) -> None:
    dead = f"http://127.0.0.1:{free_port()}/v1"
    file = tmp_path / "settings.toml"
    file.write_text("generator = 5\n")
    for url, config, said in (
        (dead, None, f"no connection to {dead}: ConnectError"),
        (dead, file, f"no connection to {dead}"),
        ("localhost:11434", None, "must start with http"),
        ("http://ada:secret@localhost/v1", None, "must have no user"),
    ):
        with pytest.raises(ConfigurationError, match=said) as raised:
            generator(config=config, base_url=url)
        assert "secret" not in str(raised.value)


def test_the_list_is_asked_for_with_the_key_that_answers_need(server, monkeypatch) -> None:
    server.key = "secret"
    for key in (None, "wrong"):
        if key:
            monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(ConfigurationError, match="the key is refused") as raised:
            generator(base_url=server.url)
        assert "wrong" not in str(raised.value)
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert generator(base_url=server.url).model == "small"


def test_the_commands_that_answer_with_the_configured_defence_take_its_rule() -> None:
    taking = {name for name, found in PARAMETERS.items() if "withstand" in found}
    asking = {"ask", "check", "replay", "run", "serve", "submit"}
    assert taking == asking | {"evaluate claims", "evaluate service"}


def test_the_rule_of_the_options_wins_over_settings_and_options(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("[defense]\nwithstand = 3\noptions = { withstand = 2, memory_days = 9 }\n")
    settings = load_settings(file)
    assert RuleOptions(None).over(settings) == settings
    found = build_methods(RuleOptions(0).over(settings))[0]
    assert found == build_defense("voices", {"withstand": 0, "memory_days": 9})
    settings = load_settings(profile="scripted", defense={"name": "majority"})
    with pytest.raises(ConfigurationError, match="'majority' counts no sites"):
        build_methods(RuleOptions(1).over(settings))
