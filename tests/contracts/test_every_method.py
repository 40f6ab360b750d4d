"""What the options of every registered method promise: defences, attributors, rerankers."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import pytest

from radarstream.defenses.attribution.registry import ATTRIBUTORS, build_attributor
from radarstream.defenses.registry import DEFENSES, build_defense
from radarstream.defenses.retrieval.registry import RERANKERS, build_reranker
from radarstream.schemas.errors import ConfigurationError

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


@pytest.mark.parametrize(("build", "name", "method"), METHODS)
def test_names_build_instances_of_their_class(build: Build, name: str, method: Any) -> None:
    assert type(build(name)) is method
    with pytest.raises(ConfigurationError, match="no_such_option"):
        build(name, {"no_such_option": 1})


@pytest.mark.parametrize(("build", "name", "method"), METHODS)
def test_values_out_of_range_or_of_another_type_are_refused(
    build: Build, name: str, method: Any
) -> None:
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
