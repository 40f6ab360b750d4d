"""Models that only retrieval defences ask: built where one asks, told at once where missing."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Engine

from radarstream.defenses.protocol import Signal
from radarstream.defenses.retrieval.registry import RERANKERS
from radarstream.lab.models.scripted_networks import ScriptedGradients, ScriptedMasked
from radarstream.pipelines.build import build_models, build_reranker_of, check_settings
from radarstream.pipelines.settings import Settings, load_settings
from radarstream.pipelines.signals.ports import OF_RERANKERS
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.gradients import MaskedQuery, ProbeQuery, SalienceQuery

ALL = frozenset(Signal)
OWN = OF_RERANKERS
PROGRAM = """
import sys
from sqlalchemy import create_engine
from radarstream.defenses.protocol import Signal
from radarstream.pipelines.build import build_models
from radarstream.pipelines.settings import load_settings
settings = load_settings(retrieval={"surrogate": {"kind": "sentence_transformers"}})
models = build_models(settings, create_engine("sqlite://"), frozenset(Signal))
assert None not in (models.gradients, models.surrogate, models.masked, models.attention)
assert not {"torch", "transformers"} & set(sys.modules), sorted(sys.modules)
"""


def scripted(**retrieval: Any) -> Settings:
    return load_settings(profile="scripted", retrieval=retrieval)


def needing(monkeypatch: pytest.MonkeyPatch, *signals: Signal) -> None:
    """Let the reranker `none` ask for models."""
    monkeypatch.setattr(RERANKERS["none"], "needs", frozenset(signals))


def test_no_reranker_is_built_without_a_name() -> None:
    assert build_reranker_of(scripted()) is None
    assert isinstance(build_reranker_of(scripted(name="none")), RERANKERS["none"])
    with pytest.raises(ConfigurationError, match="magic"):
        build_reranker_of(scripted(name="magic"))
    with pytest.raises(ConfigurationError, match="runs"):
        build_reranker_of(scripted(name="none", options={"runs": 3}))


def test_models_are_built_for_those_who_ask(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = scripted(name="none", surrogate={"kind": "scripted"})
    models = build_models(settings, engine)
    assert [getattr(models, name) for name in OWN] == [None, None, None, None]
    assert set(models.ids) == {"generator", "relations", "embedder"}
    needing(monkeypatch, Signal.TOKEN_SALIENCES)
    models = build_models(settings, engine)
    assert [getattr(models, name) is None for name in OWN] == [False, True, True, True]
    models = build_models(settings, engine, ALL)
    assert set(models.ids) == {"generator", "relations", "embedder", *OWN}


def test_nothing_heavy_is_imported_before_the_first_question(tmp_path: Path) -> None:
    """Also where the installed MiniLM tells gradients."""
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize(
    ("signal", "retrieval", "said"),
    [
        (Signal.SURROGATE_GRADIENTS, {}, "retrieval.surrogate"),
        (Signal.MASKED_TOKENS, {"masked": {"kind": "none"}}, "retrieval.masked"),
        (
            Signal.MASKED_TOKENS,
            {"masked": {"kind": "transformers", "model": "/nonexistent"}},
            "/nonexistent",
        ),
        (
            Signal.SURROGATE_GRADIENTS,
            {"surrogate": {"kind": "sentence_transformers", "model": "/nonexistent"}},
            "/nonexistent",
        ),
        (Signal.ATTENTION, {"attention": {"kind": "none"}}, "retrieval.attention"),
        (
            Signal.ATTENTION,
            {"attention": {"kind": "transformers", "model": "/nonexistent"}},
            "/nonexistent",
        ),
    ],
)
def test_a_missing_model_is_told_before_work_begins(
    monkeypatch: pytest.MonkeyPatch, signal: Signal, retrieval: dict[str, Any], said: str
) -> None:
    needing(monkeypatch, signal)
    check_settings(scripted(**retrieval))  # nobody asks
    with pytest.raises(ConfigurationError, match=said):
        check_settings(scripted(name="none", **retrieval))


@pytest.mark.parametrize("library", ["torch", "transformers"])
def test_a_missing_library_is_told_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    needing(monkeypatch, Signal.SIMILARITY_GRADIENTS)
    monkeypatch.setitem(sys.modules, library, None)  # type: ignore[arg-type]
    settings = load_settings(retrieval={"name": "none"})
    with pytest.raises(ConfigurationError, match=rf"{library} missing.*radarstream\[gpu\]"):
        check_settings(settings)


def test_replies_are_kept_and_come_back_as_they_were(engine: Engine) -> None:
    settings = scripted(surrogate={"kind": "scripted"})
    first, again = (build_models(settings, engine, ALL) for _ in range(2))
    probes = [ProbeQuery("Who?", f"Page {i}.", runs=3) for i in (1, 2, 1)]
    saliences = [SalienceQuery("Who?", "Who says so?"), SalienceQuery("Who?", "")]
    masked = [MaskedQuery("Who says so?", ((0, 3), (4, 8))), MaskedQuery("Who?", ())]
    plain = ScriptedGradients()
    for models in (first, again):
        np.testing.assert_array_equal(models.gradients.probe(probes), plain.probe(probes))
        assert models.gradients.saliences(saliences) == plain.saliences(saliences)
        for found, expected in zip(
            models.masked.masked(masked), ScriptedMasked().masked(masked), strict=True
        ):
            np.testing.assert_array_equal(found, expected)
    assert (first.gradients.calls, first.gradients.hits) == (2 + 2, 1)
    assert (again.gradients.calls, again.gradients.hits) == (0, 3 + 2)
    assert (again.masked.calls, again.masked.hits) == (0, 2)
    assert again.gradients.probe([]).shape == (0, 2, 2)
