"""How llama.cpp's replies become completions, without its weights."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from radarstream.connectors.models import llama_cpp
from radarstream.connectors.models.llama_cpp import LlamaCpp
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Completion, Prompt, Task

Usage = dict[str, Any] | None
COUNTED: Usage = {"prompt_tokens": 259, "completion_tokens": 4, "total_tokens": 263}


class FakeServer:
    """Says " Ann" to every prompt; one that contains "too long" stops its batch."""

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self.slots: list[int | None] = []

    def handle_completions(
        self, request: dict[str, Any], receive: Callable[[Any], bool] | None = None
    ) -> Any:
        self.slots.append(request.get("id_slot"))
        if receive is None:
            return self.reply(request["prompt"])
        if any("too long" in text for text in request["prompt"]):
            receive({"error": {"type": "exceed_context_size_error"}})
            return None
        for index in reversed(range(len(request["prompt"]))):
            receive(self.chunk(index, " A", None))
            receive(self.chunk(index, "nn", None))
            receive(self.chunk(index, "", "stop"))
        return receive(None)

    def reply(self, text: str) -> dict[str, Any]:
        if "too long" in text:
            return {"error": {"type": "exceed_context_size_error"}}
        return {"choices": [{"text": " Ann", "index": 0, "finish_reason": "stop"}]} | self.counts()

    def chunk(self, index: int, text: str, reason: str | None) -> dict[str, Any]:
        choice = {"index": index, "text": text, "finish_reason": reason}
        return {"choices": [choice]} | (self.counts() if reason else {})

    def counts(self) -> dict[str, Any]:
        return {} if self.usage is None else {"usage": self.usage}


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Iterator[LlamaCpp]:
    settings = LlamaCpp(Path("/nowhere.gguf"), slots=3, chat=False)
    llama_cpp._SERVERS[settings] = FakeServer(getattr(request, "param", COUNTED))
    yield settings
    del llama_cpp._SERVERS[settings]


def asking(*passages: str) -> list[Prompt]:
    return [build_prompt(Task.ATOMIC_ANSWER, "Who?", [passage]) for passage in passages]


def test_tokens_are_counted_reply_by_reply(model: LlamaCpp) -> None:
    """Also where a prompt is asked again alone, with half of its passage, until it fits."""
    for passages in (("a", "b"), ("a", "x" * 50 + " too long")):
        assert model.complete(asking(*passages)) == [Completion(" Ann", 259, 4)] * 2
    with pytest.raises(ModelError, match="does not fit"):
        model.complete(asking("too long"))


@pytest.mark.parametrize(
    "model",
    [None, {}, {"prompt_tokens": None, "completion_tokens": 4}, {"prompt_tokens": 3}],
    indirect=True,
)
def test_what_is_not_counted_is_zero(model: LlamaCpp) -> None:
    assert model.complete(asking("a")) == [Completion(" Ann", 0, 0)]


@pytest.mark.parametrize(("prompts", "slot"), [(1, None), (2, 0), (3, 0), (4, None)])
def test_a_few_prompts_compute_what_they_share_once(model, prompts, slot):
    model.complete(asking(*map(str, range(prompts))))
    assert llama_cpp._SERVERS[model].slots == [slot]


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
    assert max(computed[5:]) < 100 < min(computed[:2])


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
