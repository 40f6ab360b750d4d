"""What sharing the prompt's prefix is worth: atomic answers a second, with and without."""

from time import perf_counter

import pytest

from connectors.models.llama_cpp import LlamaCpp
from pipelines.signals.prompts import build_prompt
from schemas.prompt import Task

PAGES, ROUNDS = 24, 3
SENTENCE = (
    "Harbour news. The council of town {} met on Tuesday; its mayor, Ada Number {}, spoke last."
)


def atomic_answers() -> list:
    return [
        build_prompt(
            Task.ATOMIC_ANSWER, f"Who is the mayor of town {i}?", [SENTENCE.replace("{}", str(i))]
        )
        for i in range(PAGES)
    ]


@pytest.mark.bench
@pytest.mark.models
def test_shared_prefixes_make_atomic_answers_faster(benchmark) -> None:
    prompts = atomic_answers()
    shared = LlamaCpp(context_tokens=1024)
    # Another context size would be another comparison: only the cache differs.
    separate = LlamaCpp(context_tokens=1024, share_prefixes=False)
    for generator in (shared, separate):
        generator.complete(prompts[:4])  # loads the model and fills every slot's prefix

    def seconds(generator: LlamaCpp) -> float:
        start = perf_counter()
        generator.complete(prompts)
        return perf_counter() - start

    # Alternating, so that a busy machine slows both alike.
    pairs = [(seconds(shared), seconds(separate)) for _ in range(ROUNDS)]
    with_sharing, without = (min(column) for column in zip(*pairs, strict=True))
    benchmark.extra_info["answers_per_second"] = PAGES / with_sharing
    benchmark.extra_info["answers_per_second_without_sharing"] = PAGES / without
    benchmark.extra_info["speedup_by_sharing"] = without / with_sharing
    benchmark.pedantic(shared.complete, args=(prompts,), rounds=1)
    assert without / with_sharing > 1.2
