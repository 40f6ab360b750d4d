"""The generator against a real OpenAI-compatible server: llama.cpp with the embedded model."""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from radarstream.connectors.models.gguf_weights import embedded_gguf
from radarstream.connectors.models.openai_http.generator import OpenAiGenerator
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ConfigurationError, ModelOutageError, PartialModelError
from radarstream.schemas.prompt import Prompt, Task

# The faults of such servers are played by fault_server in every run.
pytestmark = [pytest.mark.models, pytest.mark.long]
TOWNS = ("Bern", "Oslo", "Lima")


@dataclass(frozen=True)
class Llama:
    """A running server."""

    url: str
    key: str


@pytest.fixture(scope="module")
def llama() -> Iterator[Llama]:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(embedded_gguf())
    params.model_alias = {"gemma"}
    params.n_parallel, params.n_ctx, params.n_gpu_layers = 2, 2_048, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.fit_params = params.warmup = params.ui = False
    params.verbosity = -1
    key = secrets.token_hex(8)
    params.api_keys = [key]
    server = xllamacpp.Server(params)
    yield Llama(server.listening_address + "/v1", key)
    del server


@pytest.fixture
def generator(llama: Llama, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAiGenerator]:
    monkeypatch.setenv("LLAMA_KEY", llama.key)
    options = OpenAiOptions(
        base_url=llama.url,
        model="gemma",
        api_key_variable="LLAMA_KEY",
        seed=0,
        concurrency=2,
        deadline_s=300.0,
        call_timeout_s=150.0,
    )
    opened = OpenAiGenerator(options)
    yield opened
    opened.close()


def prompts() -> list[Prompt]:
    return [
        build_prompt(Task.ATOMIC_ANSWER, "In which town is the zoo?", [f"The zoo is in {town}."])
        for town in TOWNS
    ]


def test_a_real_server_answers_and_counts_tokens(generator: OpenAiGenerator) -> None:
    completions = generator.complete(prompts())
    said = [town in c.text for town, c in zip(TOWNS, completions, strict=True)]
    assert sum(said) >= 2  # a small model: not every answer need be right
    assert generator.client.tokens_in == sum(c.prompt_tokens for c in completions) > 100
    assert 0 < generator.client.tokens_out <= 3 * prompts()[0].max_tokens
    assert not generator.client.errors


def test_a_page_beyond_the_context_costs_its_own_text_only(generator: OpenAiGenerator) -> None:
    rare = "".join(chr(0x12000 + i) for i in range(900))
    hostile = build_prompt(Task.ATOMIC_ANSWER, "In which town is the zoo?", ["Zoo. " + rare])
    assert len(generator.complete([hostile, prompts()[0]])) == 2
    assert generator.client.errors["too_long"] >= 1
    assert generator.client.breaker.state == "closed"


def test_a_real_server_says_what_it_offers(generator: OpenAiGenerator) -> None:
    assert generator.probe()


def test_a_real_server_refuses_a_wrong_key(
    generator: OpenAiGenerator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLAMA_KEY", "wrong")
    stranger = OpenAiGenerator(generator.options)
    with pytest.raises(PartialModelError) as raised:
        stranger.complete(prompts()[:1])
    assert isinstance(raised.value.outcomes[0], ModelOutageError)
    with pytest.raises(ConfigurationError, match="LLAMA_KEY"):
        stranger.probe()
    stranger.close()
