"""Gradients of MiniLM for ProGRank: in batches, in a loop over passages and runs, with torch.func.

The three take turns, and the least of some rounds counts, so that other work on the machine spoils
no ratio. The loop and torch.func use torch's own dropout, whose masks depend on the batch.
"""

from collections.abc import Callable
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers")

import torch
from transformers import AutoModel, AutoTokenizer

from radarstream.connectors.models.gradient_encoder import GradientEncoder
from radarstream.connectors.models.sentence_embedder import minilm_directory
from radarstream.schemas.gradients import ProbeQuery
from tests.benchmarks.figures import Figures

pytestmark = [pytest.mark.bench, pytest.mark.models]

QUESTION = "Who is the mayor of the town of Halden?"
SENTENCE = "The mayor of the town has held the office since the last election in spring. "
RUNS, PROBED, CANDIDATES = 20, 8, 50  # of 50 candidates ProGRank's bounded pool probes 8
ROUNDS = 2
SECONDS = 3.0  # that a query may take on two cores
LAYER = 3


def queries(count: int, sentences: int, runs: int = RUNS) -> list[ProbeQuery]:
    return [
        ProbeQuery(QUESTION, f"Page {i}. " + SENTENCE * sentences, runs=runs, layer=LAYER)
        for i in range(count)
    ]


class Plain:
    """The network as transformers has it."""

    def __init__(self) -> None:
        directory = str(minilm_directory())
        self.tokenizer = AutoTokenizer.from_pretrained(directory)
        self.model = AutoModel.from_pretrained(directory, attn_implementation="eager")
        self.model.requires_grad_(False).train()
        self.norm = self.model.encoder.layer[LAYER].attention.output.LayerNorm
        self.name = f"encoder.layer.{LAYER}.attention.output.LayerNorm"

    def tokens(self, text: str) -> Any:
        return self.tokenizer(text, truncation=True, max_length=256, return_tensors="pt")

    def loop(self, asked: list[ProbeQuery]) -> None:
        """One graph per passage and run."""
        parameters = [self.norm.weight, self.norm.bias]
        for parameter in parameters:
            parameter.requires_grad_(True)
        for query in asked:
            texts = [self.tokens(query.question), self.tokens(query.passage)]
            for _ in range(query.runs):
                means = [self.model(**text).last_hidden_state.mean(dim=1) for text in texts]
                torch.autograd.grad(torch.cosine_similarity(*means).sum(), parameters)
        for parameter in parameters:
            parameter.requires_grad_(False)

    def vmapped(self, asked: list[ProbeQuery]) -> None:
        """torch.func: the gradient of a run, mapped over the runs of a passage."""
        parameters = {
            f"{self.name}.{part}": getattr(self.norm, part).detach() for part in ("weight", "bias")
        }

        def cosine(parameters: Any, question: Any, passage: Any) -> Any:
            means = [
                torch.func.functional_call(self.model, parameters, kwargs=text)
                .last_hidden_state.mean(dim=1)
                for text in (question, passage)
            ]  # fmt: skip
            return torch.cosine_similarity(*means).sum()

        each = torch.func.vmap(
            torch.func.grad(cosine), in_dims=(None, 0, 0), randomness="different"
        )
        for query in asked:
            texts = [self.tokens(query.question), self.tokens(query.passage)]
            rows = [
                {name: values.expand(query.runs, *values.shape) for name, values in text.items()
                 if name != "attention_mask"}
                for text in texts
            ]  # fmt: skip
            each(parameters, *rows)


def least(contenders: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The least seconds of each, all of them taking turns."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ROUNDS):
        for name, call in contenders.items():
            start = perf_counter()
            call()
            seconds[name].append(perf_counter() - start)
    return {name: min(times) for name, times in seconds.items()}


@pytest.mark.parametrize("sentences", [1, 4])
def test_batches_against_a_loop_and_torch_func(figures: Figures, sentences: int) -> None:
    encoder, plain = GradientEncoder(device="cpu"), Plain()
    asked = queries(1, sentences, runs=10)
    encoder.probe(queries(1, sentences, runs=2))
    found = least(
        {
            "batched": lambda: encoder.probe(asked),
            "loop": lambda: plain.loop(asked),
            "torch.func": lambda: plain.vmapped(asked),
        }
    )
    tokens = len(plain.tokens(asked[0].passage)["input_ids"][0])
    figures.uses(encoder.model_id)
    for name in ("loop", "torch.func"):
        ratio = found[name] / found["batched"]
        figures.add(f"gradients, {tokens} tokens: {name} to batched", ratio, "times", (">", 1.0))


@pytest.mark.parametrize("sentences", [1, 4, 16])
def test_gradients_of_a_query(figures: Figures, sentences: int) -> None:
    """The passages that a bounded pool of 50 candidates probes: CPU time, on one thread, so that
    other work on the machine counts little. Two cores have twice the seconds.
    """
    encoder = GradientEncoder(device="cpu")
    asked = queries(PROBED, sentences)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    encoder.probe(queries(1, sentences, runs=2))
    start = process_time()
    grams = encoder.probe(asked)
    seconds = process_time() - start
    torch.set_num_threads(threads)
    assert np.isfinite(grams).all()
    tokens = encoder._network.tokenizer(asked[0].passage, truncation=True, max_length=256)
    told = f"gradients of {{}} passages of {len(tokens['input_ids'])} tokens, {RUNS} runs"
    figures.add(told.format(PROBED), seconds, "CPU s", ("<", 2 * SECONDS))
    figures.add(told.format(CANDIDATES), seconds / PROBED * CANDIDATES, "CPU s, rule of three")
