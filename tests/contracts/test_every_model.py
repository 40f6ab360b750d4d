"""What every generator promises, whatever is behind it."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from radarstream.connectors.models.batching import AnswersEach
from radarstream.connectors.models.llama_cpp import LlamaCpp
from radarstream.connectors.models.openai_http.generator import OpenAiGenerator
from radarstream.connectors.models.openai_http.options import OpenAiOptions
from radarstream.connectors.models.scripted import ScriptedGenerator
from radarstream.pipelines.signals.ports import Generator
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import Completion, Prompt, Task
from tests.connectors.models.fault_server import serving

TOWNS = {"Aldo": "Bern", "Berta": "Oslo", "Carla": "Lima"}


@pytest.fixture(scope="module")
def openai() -> Iterator[Generator]:
    with serving() as server:
        generator = OpenAiGenerator(remote(server.url))
        yield generator
        generator.close()


def remote(url: str, **options: Any) -> OpenAiOptions:
    return OpenAiOptions(base_url=url, model="small", api_key_variable="", **options)


@pytest.fixture(scope="module", params=["scripted", "openai", "llama_cpp"])
def generator(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator:
    match request.param:
        case "scripted":
            return ScriptedGenerator()
        case "openai":
            opened: Generator = request.getfixturevalue("openai")
            return opened
        case _:
            tiny_gguf = pytest.importorskip("tests.tiny_gguf")
            weights = tiny_gguf.build(tmp_path_factory.mktemp("gguf") / "tiny.gguf")
            return LlamaCpp(weights, slots=2, context_tokens=4096, threads=1)


def prompts() -> list[Prompt]:
    """Prompts of unlike length, one of them twice."""
    asked = [
        build_prompt(
            Task.ATOMIC_ANSWER,
            f"Where does {name} live?",
            [f"{name} has lived in {town} since childhood." + " It rains." * (7 * i)],
        )
        for i, (name, town) in enumerate(TOWNS.items())
    ]
    return [*asked, asked[1]]


@pytest.fixture(scope="module")
def expected(generator: Generator) -> list[Completion]:
    """Text and tokens with which the prompts are answered, asked once for all tests.

    A tiny model says the same to each; its prompts are told apart by their lengths.
    """
    return generator.complete(prompts())


def test_neither_batches_nor_pickling_change_completions(generator, expected):
    # A model also says the same when it is asked again.
    assert generator.complete(prompts()[::-1]) == expected[::-1]
    assert expected[1] == expected[-1]
    assert len(set(expected)) == len(TOWNS)
    assert generator.complete([]) == []
    assert generator.complete(prompts()[:1]) == expected[:1]
    assert generator.complete(prompts()[1:]) == expected[1:]
    copy = pickle.loads(pickle.dumps(generator))
    assert copy.model_id == generator.model_id
    assert copy.complete(prompts()[:1]) == expected[:1]


def test_completions_that_come_one_by_one_are_those_of_the_batch(generator, expected):
    """And a caller may stop half-way."""
    if not isinstance(generator, AnswersEach):
        pytest.skip("gives its batch as a whole")
    outcomes = dict(generator.complete_each(prompts()))
    assert [outcomes[index] for index in range(len(expected))] == expected
    arriving = generator.complete_each(prompts())
    next(arriving)
    arriving.close()  # type: ignore[attr-defined]
    assert len(generator.complete(prompts()[:1])) == 1


def test_a_call_that_fails_and_a_file_that_is_no_model_are_model_errors(tmp_path: Path) -> None:
    missing, junk = Path("/nonexistent.gguf"), tmp_path / "broken.gguf"
    junk.write_bytes(b"GGUF but not really")
    for broken in (
        ScriptedGenerator(fail_on_calls=frozenset({1})),
        OpenAiGenerator(remote("http://127.0.0.1:9/v1", attempts=1)),
        LlamaCpp(missing),
        LlamaCpp(junk),
    ):
        with pytest.raises(ModelError):
            broken.complete(prompts()[:1])
    with pytest.raises(ModelError):
        _ = LlamaCpp(missing).model_id


@pytest.mark.models
def test_the_embedded_model_reads_the_answer_from_the_passage() -> None:
    replies = LlamaCpp(slots=2, context_tokens=1024).complete(prompts()[:2])
    assert all(town in reply.text for town, reply in zip(TOWNS.values(), replies, strict=False))
