"""`radarstream doctor` asks the models that the configured reranker is going to ask."""

from pathlib import Path
from typing import Any

import pytest

from radarstream.defenses.protocol import Signal
from radarstream.defenses.retrieval.registry import RERANKERS
from radarstream.pipelines.cli.doctor import needed, reranker_models
from radarstream.pipelines.cli.doctor_job import Check
from radarstream.pipelines.settings import load_settings

ALL = frozenset(Signal)


def checks(**retrieval: Any) -> dict[str, Check]:
    settings = load_settings(profile="scripted", retrieval={"name": "none", **retrieval})
    return {check.name: check for check in reranker_models(settings)}


def test_without_a_reranker_nothing_is_asked() -> None:
    assert checks(name="") == {}


def test_a_reranker_that_asks_nothing_is_named() -> None:
    found = checks(keep=7)
    assert set(found) == {"reranker"}
    assert found["reranker"].found == "none keeps 7 documents"


def test_an_unknown_reranker_is_told() -> None:
    found = checks(name="magic")
    assert not found["reranker"].ok
    assert "magic" in found["reranker"].found


def test_every_model_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RERANKERS["none"], "needs", ALL)
    found = checks(surrogate={"kind": "scripted"})
    assert set(found) == {"reranker", "gradients", "surrogate", "hidden words", "attention"}
    assert all(check.ok and "scripted" in check.found for check in list(found.values())[1:])


def test_what_is_missing_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RERANKERS["none"], "needs", ALL)
    found = checks(masked={"kind": "transformers", "model": "/nonexistent"})
    assert [name for name, check in found.items() if not check.ok] == ["surrogate", "hidden words"]
    assert "section `retrieval`" in found["surrogate"].remedy
    assert not checks(masked={"kind": "none"})["hidden words"].ok
    assert not checks(attention={"kind": "none"})["attention"].ok


def test_weights_are_not_converted_only_to_find_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(RERANKERS["none"], "needs", frozenset({Signal.MASKED_TOKENS}))
    check = checks(masked={"kind": "causal"})["hidden words"]
    assert check.ok
    assert "the first use assembles" in check.found
    assert list(tmp_path.rglob("*")) == []


def test_packages_follow_what_the_reranker_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(retrieval={"name": "none"})
    assert "torch" not in needed(settings)
    monkeypatch.setattr(RERANKERS["none"], "needs", frozenset({Signal.SIMILARITY_GRADIENTS}))
    assert needed(settings)["torch"] == needed(settings)["transformers"] == "gpu"
    assert "sentence-transformers" not in needed(settings)
    monkeypatch.setattr(RERANKERS["none"], "needs", ALL)
    other = {"kind": "sentence_transformers", "model": "org/other"}
    surrogate = load_settings(retrieval={"name": "none", "surrogate": other})
    assert needed(surrogate)["sentence-transformers"] == "gpu"
    assert "torch" not in needed(load_settings(profile="scripted", retrieval={"name": "none"}))
