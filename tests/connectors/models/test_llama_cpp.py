"""What prompts share is computed once, and threads sleep while they wait."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from radarstream.connectors.models import llama_cpp
from radarstream.connectors.models.llama_cpp import LlamaCpp
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.prompt import Prompt, Task


def asking(*passages: str) -> list[Prompt]:
    return [build_prompt(Task.ATOMIC_ANSWER, "Who?", [passage]) for passage in passages]


def test_two_kinds_of_prompts_that_take_turns_keep_what_they_share(tmp_path: Path) -> None:
    """Of the third call only the passages are computed, whatever the second one was."""
    tiny_gguf = pytest.importorskip("tests.tiny_gguf")
    computed: list[int] = []

    class Counting(LlamaCpp):
        def _answered(self, method: str, request: dict[str, Any], *receive: Any) -> Any:
            def counted(chunk: Any) -> bool:
                if isinstance(chunk, dict) and chunk["choices"][0]["finish_reason"]:
                    computed.append(chunk["timings"]["prompt_n"])
                return receive[0](chunk)

            return super()._answered(method, request, counted)

    model = Counting(tiny_gguf.build(tmp_path / "tiny.gguf"), context_tokens=8192, threads=1)
    model.complete(asking(*(f"Ann Lee is mayor of town {n}." for n in range(4))))
    model.complete([build_prompt(Task.SYNTHESISE_ANSWERS, "Who?", ["Ann", "Ann Lee", "Bob"])])
    model.complete(asking(*(f"Bob Ray is mayor of town {n}." for n in range(4))))
    assert len(computed) == 9
    assert max(computed[5:]) < 100 < max(computed[:4])  # of each call, in whatever order


WAITING = """
import os, sys, types
class Finder:
    def find_spec(name, path, target=None):
        if name == "xllamacpp":
            print(os.environ.get("OMP_WAIT_POLICY"))
sys.meta_path.insert(0, Finder)
from radarstream.connectors.models import llama_cpp
llama_cpp._library()
print(os.environ.get("OMP_WAIT_POLICY"))
"""


def test_threads_are_told_to_sleep_while_they_wait() -> None:
    """Told when the library is loaded, and nothing that is started later inherits it."""
    for set_by_user, seen, left in [
        ({}, "passive", "None"),
        ({"OMP_WAIT_POLICY": "active"}, "active", "active"),
        ({"GOMP_SPINCOUNT": "100"}, "None", "None"),
    ]:
        inherited = {
            name: value for name, value in os.environ.items() if name not in llama_cpp._WAITING
        }
        told = subprocess.check_output(
            [sys.executable, "-c", WAITING], env=inherited | set_by_user, text=True
        )
        assert told.split() == [seen, left], set_by_user
