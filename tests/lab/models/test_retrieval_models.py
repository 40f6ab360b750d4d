"""Models that only retrieval defences ask: built where one asks, told at once where missing."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine

from radarstream.connectors.models.wrapping import ask
from radarstream.defenses.registry import RERANKERS
from radarstream.lab.insights import MaskedQuery, ProbeQuery, SalienceQuery
from radarstream.lab.models.scripted_networks import ScriptedGradients, ScriptedMasked
from radarstream.pipelines.build import build_models, build_reranker_of, check_settings
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.schemas.errors import ConfigurationError

ALL = frozenset({"gradients", "surrogate", "masked", "attention"})
OWN = ("gradients", "masked")
PROGRAM = """
import sys
from sqlalchemy import create_engine
from radarstream.pipelines.build import build_models
from radarstream.pipelines.settings import load_settings
settings = load_settings(retrieval={"models": {"surrogate": {"kind": "sentence_transformers"}}})
needs = {"gradients", "surrogate", "masked", "attention"}
models = build_models(settings, create_engine("sqlite://"), needs)
assert models.plugins.keys() == needs
assert not {"torch", "transformers"} & set(sys.modules), sorted(sys.modules)
"""


def scripted(name: str = "", **models: Any) -> Settings:
    return load_settings(profile="scripted", retrieval={"name": name, "models": models})


def needing(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Let the reranker `none` ask for models."""
    monkeypatch.setattr(RERANKERS["none"], "needs", frozenset(names))


def test_no_reranker_is_built_without_a_name() -> None:
    assert build_reranker_of(scripted()) is None
    assert isinstance(build_reranker_of(scripted("none")), RERANKERS["none"])
    with pytest.raises(ConfigurationError, match="magic"):
        build_reranker_of(scripted("magic"))
    with pytest.raises(ConfigurationError, match="runs"):
        build_reranker_of(load_settings(retrieval={"name": "none", "options": {"runs": 3}}))


def test_models_are_built_for_those_who_ask(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = scripted("none", surrogate={"kind": "scripted"})
    models = build_models(settings, engine)
    assert set(models.ids) == {"generator", "relations", "embedder"}
    needing(monkeypatch, "gradients")
    assert build_models(settings, engine).plugins.keys() == {"gradients"}
    models = build_models(settings, engine, ALL)
    assert set(models.ids) == {"generator", "relations", "embedder", *ALL}


def test_nothing_heavy_is_imported_before_the_first_question(tmp_path: Path) -> None:
    """Also where the installed MiniLM tells gradients."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("name", "models", "wrong"),
    [
        ("surrogate", {}, "needs surrogate.*retrieval.models"),
        ("masked", {"masked": {"kind": "none"}}, "needs masked.*retrieval.models"),
        ("masked", {"masked": {"kind": "transformers", "model": "/nonexistent"}}, "/nonexistent"),
        (
            "surrogate",
            {"surrogate": {"kind": "sentence_transformers", "model": "/nonexistent"}},
            "/nonexistent",
        ),
        ("attention", {"attention": {"kind": "none"}}, "needs attention.*retrieval.models"),
        (
            "attention",
            {"attention": {"kind": "transformers", "model": "/nonexistent"}},
            "/nonexistent",
        ),
        ("masked", {"maskd": {}}, "retrieval.models: maskd is not a setting"),
        ("masked", {"masked": {"kind": "causl"}}, "masked has no kind 'causl'"),
        ("masked", {"masked": {"threads": 0}}, "masked"),
    ],
)
def test_a_missing_model_is_named_before_work_begins(
    monkeypatch: pytest.MonkeyPatch, name: str, models: dict[str, Any], wrong: str
) -> None:
    needing(monkeypatch, name)
    check_settings(scripted(**models))  # nobody asks
    with pytest.raises(ConfigurationError, match=wrong):
        check_settings(scripted("none", **models))


@pytest.mark.parametrize("library", ["torch", "transformers"])
def test_a_missing_library_is_told_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    needing(monkeypatch, "gradients")
    monkeypatch.setitem(sys.modules, library, None)  # type: ignore[arg-type]
    settings = load_settings(retrieval={"name": "none"})
    with pytest.raises(
        ConfigurationError, match=rf"{library} is not installed.*radarstream\[gpu\]"
    ):
        check_settings(settings)


def test_replies_are_kept_and_come_back_as_they_were(engine: Engine) -> None:
    settings = scripted(surrogate={"kind": "scripted"})
    first, again = (build_models(settings, engine, ALL) for _ in range(2))
    probes = [ProbeQuery("Who?", f"Page {i}.", runs=3) for i in (1, 2, 1)]
    saliences = [SalienceQuery("Who?", "Who says so?"), SalienceQuery("Who?", "")]
    masked = [MaskedQuery("Who says so?", ((0, 3), (4, 8))), MaskedQuery("Who?", ())]
    plain = ScriptedGradients()
    for models in (first, again):
        gradients = models.plugins["gradients"]
        np.testing.assert_array_equal(ask(gradients, "probe", probes), plain.probe(probes))
        assert ask(gradients, "saliences", saliences) == plain.saliences(saliences)
        for found, expected in zip(
            ask(models.plugins["masked"], "masked", masked),
            ScriptedMasked().masked(masked),
            strict=True,
        ):
            np.testing.assert_array_equal(found, expected)
    counts = [(m.plugins[n].calls, m.plugins[n].hits) for m in (first, again) for n in OWN]
    assert counts == [(2 + 2, 1), (2, 0), (0, 3 + 2), (0, 2)]
