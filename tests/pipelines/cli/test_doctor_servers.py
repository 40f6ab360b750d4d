"""`radarstream doctor` finds servers on this machine, and tries out models of services."""

import shlex
from collections.abc import Iterator

import pytest

from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.pipelines.cli import doctor
from radarstream.pipelines.cli.doctor import Diagnosis, local_servers, models
from radarstream.pipelines.cli.options import ModelOptions
from radarstream.pipelines.settings import load_settings
from radarstream.schemas.errors import ConfigurationError
from tests.connectors.models.fault_server import FaultServer, says, serving
from tests.connectors.models.scoring_server import scoring
from tests.pipelines.test_service_alone import reply
from tests.servers import free_port


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """In the place of Ollama; nobody listens at the ports of the others."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with serving() as state:
        port = int(state.url.removesuffix("/v1").rpartition(":")[2])
        ports = {"Ollama": port, "vLLM": free_port(), "llama.cpp server": free_port()}
        monkeypatch.setattr(doctor, "PORTS", ports)
        state.always = lambda request: says(reply(request))
        yield state


def test_what_is_advised_selects_the_server(server: FaultServer) -> None:
    server.models = ("nomic-embed-text", "qwen3:8b", "it's; small")
    (check,) = local_servers(load_settings(profile="embedded"))
    assert (check.name, check.ok) == ("Ollama", True)
    typed = shlex.split(check.found.partition("add to a command: ")[2])
    assert typed == ["--model", "qwen3:8b", "--base-url", server.url]
    settings = ModelOptions(None, None, typed[1], typed[3]).settings()
    assert settings.generator.base_url == server.url  # type: ignore[union-attr]
    (check,) = local_servers(settings)
    assert "--model" not in check.found  # it is used already


@pytest.mark.parametrize("names", [(), ("bge-m3",)])
def test_a_server_without_a_model_that_writes_is_told(server, names) -> None:
    server.models = names
    (check,) = local_servers(load_settings(profile="embedded"))
    assert check.ok and "no model that writes" in check.found


def test_names_cannot_end_a_command(server: FaultServer) -> None:
    server.models = ("x; rm -rf /",)
    (check,) = local_servers(load_settings(profile="embedded"))
    assert shlex.split(check.found.partition("command: ")[2])[1] == "x; rm -rf /"


def test_without_a_server_the_embedded_model_is_said_to_limit_the_answers(monkeypatch) -> None:
    monkeypatch.setattr(doctor, "PORTS", {"Ollama": free_port(), "vLLM": free_port()})
    (check,) = local_servers(load_settings(profile="embedded"))
    assert check.ok is None and "none on this machine: Ollama" in check.found
    assert "limits the answers" in check.remedy
    (check,) = local_servers(load_settings(profile="scripted"))
    assert not check.remedy


def test_only_loopback_is_asked_and_no_proxy(server, monkeypatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    (check,) = local_servers(load_settings(profile="embedded"))
    assert "small" in check.found


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://[::1]:1/v1", True),
        ("http://localhost/v1", True),
        ("http://localhost.example.org/v1", False),
        ("http://127.0.0.1.example.org/v1", False),
        ("https://api.openai.com/v1", False),
    ],
)
def test_loopback_is_told_by_the_host(url: str, here: bool) -> None:
    assert OpenAiOptions(model="m", base_url=url).is_local is here


def test_token_probabilities_of_a_service_are_tried_out() -> None:
    def check(url: str) -> Diagnosis:
        tokens = {"kind": "openai", "model": "small", "api_key_variable": "", "base_url": url}
        (found,) = (
            c
            for c in models(load_settings(profile="scripted", tokens=tokens))
            if c.name == "token probabilities"
        )
        return found

    with scoring() as server:
        assert check(server.url).ok
        server.mend = lambda path, request, reply: (200, {"choices": [{"text": "Lima"}]})
        broken = check(server.url)
    assert not broken.ok and "section `tokens`" in broken.remedy


def test_settings_name_what_their_reranker_lacks() -> None:
    given = load_settings(
        profile="scripted", retrieval={"name": "gmtp", "models": {"masked": {"kind": "none"}}}
    )
    with pytest.raises(ConfigurationError, match="masked"):
        doctor._settings(given)
    assert "grada" in doctor._settings(
        load_settings(profile="scripted", retrieval={"name": "grada"})
    )
