"""How llama.cpp's replies become completions, without its weights."""

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

    def handle_completions(
        self, request: dict[str, Any], receive: Callable[[Any], bool] | None = None
    ) -> Any:
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
    assert model.complete(asking("a", "b")) == [Completion(" Ann", 259, 4)] * 2


@pytest.mark.parametrize(
    "model",
    [None, {}, {"prompt_tokens": None, "completion_tokens": 4}, {"prompt_tokens": 3}],
    indirect=True,
)
def test_what_is_not_counted_is_zero(model: LlamaCpp) -> None:
    assert model.complete(asking("a")) == [Completion(" Ann", 0, 0)]


def test_a_prompt_asked_again_alone_is_counted_too(model: LlamaCpp) -> None:
    """The second one does not fit until its passage is cut in half."""
    replies = model.complete(asking("a", "x" * 50 + " too long"))
    assert replies == [Completion(" Ann", 259, 4)] * 2


def test_a_prompt_that_never_fits_fails(model: LlamaCpp) -> None:
    with pytest.raises(ModelError, match="does not fit"):
        model.complete(asking("too long"))
