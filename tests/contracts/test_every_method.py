"""What every registered method promises: defences, attributors, rerankers."""

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from radarstream.defenses.registry import (
    ATTRIBUTORS,
    DEFENSES,
    RERANKERS,
    build_attributor,
    build_defense,
    build_reranker,
)
from radarstream.schemas.errors import ConfigurationError
from radarstream.schemas.plugins import plugins
from tests.contracts import test_every_attributor, test_every_defense, test_every_reranker

ROOT = Path(__file__).resolve().parents[2]
Build = Callable[..., Any]
METHODS: list[tuple[Build, str, Any]] = [
    (build, name, registry[name])
    for build, registry in (
        (build_defense, DEFENSES),
        (build_attributor, ATTRIBUTORS),
        (build_reranker, RERANKERS),
    )
    for name in sorted(registry)
]
UNBOUNDED = {"raguard.threshold", "dp_rag.low"}  # any finite number means something
every_method = pytest.mark.parametrize(("build", "name", "method"), METHODS)


def everything() -> str:
    """The results of every method."""
    contracts = (test_every_attributor, test_every_defense, test_every_reranker)
    return "\n".join(contract.everything() for contract in contracts)


def test_results_are_the_same_in_a_process_with_another_hash_seed() -> None:
    program = "from tests.contracts.test_every_method import *; print(everything())"
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    printed = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert printed == everything() + "\n"


@every_method
def test_methods_cite_their_source_and_are_built_by_name(build, name, method) -> None:
    text = inspect.getdoc(method) or ""
    if build is build_defense:
        assert re.search(r"\bEq\. \d|\bAlgorithm \d", text)
        assert re.search(r"paper|\"[A-Z].+\"", text)
    elif name != "none":
        assert re.search(r"\"[A-Z][^\"]{20,}\"", text)
    assert type(build(name)) is method
    with pytest.raises(ConfigurationError, match="no_such_option"):
        build(name, {"no_such_option": 1})
    with pytest.raises(ConfigurationError, match=name):
        build(f"{name}s")


@every_method
def test_values_out_of_range_or_of_another_type_are_refused(build, name, method):
    for field in fields(method):
        wrong: list[object] = []
        if isinstance(field.default, bool):
            wrong = [0, "yes"]
        elif isinstance(field.default, str):
            wrong = ["nonsense"]
        elif isinstance(field.default, int | float):
            wrong = [True, "1", float("nan")] + [-9] * (f"{name}.{field.name}" not in UNBOUNDED)
        for value in wrong:
            with pytest.raises(ConfigurationError, match=field.name):
                build(name, {field.name: value})


def test_bounds_of_single_options() -> None:
    for build, name, options, message in [
        (build_defense, "radar", {"iterations": 0}, "iterations"),
        (build_attributor, "rag_origin", {"max_segments": 0}, "max_segments"),
        (build_attributor, "rag_origin", {"block": 0}, "block"),
        (build_attributor, "rag_origin", {"scores": []}, "scores"),
        (build_attributor, "rag_origin", {"scores": ["similarty"]}, "scores"),
        (build_attributor, "rag_origin", {"check_unaided": "contradicted"}, "check_unaided"),
        (build_attributor, "rag_origin", {"min_entailment": 0.0}, "min_entailment"),
        (build_attributor, "rag_origin", {"min_entailment": 1.1}, "min_entailment"),
        (build_attributor, "rag_forensics", {"benign": "many"}, "benign"),
        (build_reranker, "prog_rank", {"runs": 1}, "runs"),
        (build_reranker, "prog_rank", {"layer": 99}, "layer: .* less than 64"),
        (build_reranker, "prog_rank", {"gate_temperature": 0.0}, "gate_temperature"),
        (build_reranker, "gmtp", {"quantile": 1.1}, "quantile"),
        (build_reranker, "gmtp", {"tokens": 3, "lowest": 4}, "lowest"),
        (build_reranker, "dp_rag", {"epsilon": 0.0}, "epsilon"),
        (build_reranker, "dp_rag", {"low": 1.0}, "low must be below high"),
        (build_reranker, "dp_rag", {"low": float("-inf")}, "low"),
        (build_reranker, "trust_rag", {"similarity_threshold": 1.1}, "similarity_threshold"),
    ]:
        with pytest.raises(ConfigurationError, match=message):
            build(name, options)


def test_plug_ins_of_another_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, about = tmp_path / "theirs", tmp_path / "theirs-1.dist-info"
    package.mkdir()
    vanilla = "from radarstream.defenses.vanilla import Vanilla\n"
    (package / "__init__.py").write_text(f"{vanilla}class Fine(Vanilla): pass")
    (package / "broken.py").write_text("raise RuntimeError('bang')")
    about.mkdir()
    (about / "METADATA").write_text("Name: theirs\nVersion: 1")
    points = [f"{name} = theirs:Fine" for name in ("fine", "voices", "astute_rag")]
    points += ["broken = theirs.broken", "absent = theirs:Absent"]
    (about / "entry_points.txt").write_text("\n".join(["[radarstream.defences]", *points]))
    monkeypatch.syspath_prepend(tmp_path)
    plugins.cache_clear()
    try:
        named = [type(build_defense(name)).__name__ for name in ("fine", "voices", "astute_rag")]
        assert named == ["Fine", "Voices", "AstuteRag"]  # names of ours stay ours
        for name, told in (("broken", "theirs.broken: RuntimeError: bang"), ("absent", "Absent")):
            with pytest.raises(ConfigurationError, match=f"'{name}': cannot import .*{told}"):
                build_defense(name)
    finally:
        plugins.cache_clear()
