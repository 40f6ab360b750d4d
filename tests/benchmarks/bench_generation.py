"""What sharing the prompt's prefix is worth: atomic answers a second, with and without."""

import pytest

from radarstream.connectors.models.llama_cpp import LlamaCpp
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.prompt import Prompt, Task
from tests.benchmarks.figures import Figures
from tests.benchmarks.timing import interleaved

PAGES, ROUNDS = 24, 3
SENTENCE = (
    "Harbour news. The council of town {} met on Tuesday; its mayor, Ada Number {}, spoke last."
)


def atomic_answers() -> list[Prompt]:
    return [
        build_prompt(
            Task.ATOMIC_ANSWER, f"Who is the mayor of town {i}?", [SENTENCE.replace("{}", str(i))]
        )
        for i in range(PAGES)
    ]


@pytest.mark.bench
@pytest.mark.models
def test_atomic_answers(figures: Figures) -> None:
    prompts = atomic_answers()
    generator = LlamaCpp(context_tokens=1024)
    generator.complete(prompts[:4])  # loads the model and fills every slot's prefix
    seconds = interleaved({"generator": generator.complete}, [prompts] * ROUNDS)["generator"]
    figures.uses(generator.model_id)
    figures.add("atomic answers", PAGES / seconds, "per second")
