"""What `radarstream doctor` says about token probabilities."""

from pathlib import Path
from typing import Any

import pytest

from radarstream.connectors.models import gguf_tokens
from radarstream.pipelines.cli.doctor import models
from radarstream.pipelines.cli.doctor_job import Check
from radarstream.pipelines.settings import load_settings
from tests.connectors.models.scoring_server import scoring


def found(**options: Any) -> list[Check]:
    """The findings about tokens; the other models answer at once."""
    checks = models(load_settings(profile="scripted", **options))
    return [check for check in checks if check.name == "token probabilities"]


def service(url: str) -> dict[str, str]:
    return {
        "kind": "openai",
        "model": "small",
        "api_key_variable": "",
        "base_url": url,
    }


@pytest.fixture(autouse=True)
def own_database(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RADARSTREAM_DATABASE", f"sqlite:///{tmp_path}/state.db")


def test_a_model_that_tells_them_is_asked() -> None:
    (check,) = found()
    assert check.ok
    assert "Lima has probability 1.00" in check.found


def test_nothing_is_said_where_none_are_wanted() -> None:
    assert found(tokens={"kind": "none"}) == []


def test_a_service_is_tried_out() -> None:
    with scoring() as server:
        (check,) = found(tokens=service(server.url))
        assert check.ok, check.found
        server.mend = lambda path, request, reply: (200, {"choices": [{"text": "Lima"}]})
        (check,) = found(tokens=service(server.url))
        assert not check.ok
        assert "section `tokens`" in check.remedy


def test_weights_are_not_converted_only_to_find_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf_tokens, "is_converted", lambda *_: False)
    monkeypatch.setattr(gguf_tokens, "converted", None)  # calling it would fail
    monkeypatch.setattr(gguf_tokens, "embedded_gguf", lambda: Path("a.gguf"))
    monkeypatch.setattr("radarstream.pipelines.cli.doctor.is_assembled", lambda: True)
    from radarstream.pipelines.cli.doctor import token_probabilities
    from radarstream.pipelines.signals.prompts import build_prompt
    from radarstream.schemas.prompt import Task

    prompt = build_prompt(Task.ATOMIC_ANSWER, "Where?", ("In Lima.",))
    assert "first use converts" in token_probabilities(load_settings(profile="embedded"), prompt)
    assert token_probabilities(load_settings(profile="api"), prompt).startswith("none")
