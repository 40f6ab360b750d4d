"""Gradients of similarities are those that torch finds one passage and one run at a time."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers")

import torch
from transformers import AutoModel

from radarstream.lab.insights import Disturbance, ProbeQuery, SalienceQuery
from radarstream.lab.models import gradient_network, gradient_runs
from radarstream.lab.models.drawn_dropout import DrawnDropout, Draws, drawn, generator_of
from radarstream.lab.models.gradient_encoder import GradientEncoder
from radarstream.lab.models.gradient_network import Network, bundled_network
from radarstream.lab.models.gradient_runs import gradients_of_runs, saliences_of
from tests import tiny_encoders

QUESTION = "Who is the mayor of Halden?"
PASSAGES = ["Bo Lee is the mayor.", "Monday.", "The council said Ann Ray is the mayor. Bo said so."]
QUERIES = [ProbeQuery(QUESTION, passage, runs=3, layer=0) for passage in PASSAGES]
CALM = {"disturbance": Disturbance.TOKENS, "token_dropout": 0.0}


@pytest.fixture
def network(directory: Path, monkeypatch: pytest.MonkeyPatch, one_thread: None) -> Network:
    """With batches of two or three runs."""
    monkeypatch.setattr(gradient_runs, "MOST_TOKENS", 24)
    return bundled_network(directory, "cpu")


@contextmanager
def trainable(norm: torch.nn.LayerNorm) -> Iterator[list[torch.nn.Parameter]]:
    parameters = [norm.weight, norm.bias]
    for parameter in parameters:
        parameter.requires_grad_(True)
    yield parameters
    for parameter in parameters:
        parameter.requires_grad_(False)


def one_by_one(network: Network, queries: list[ProbeQuery]) -> np.ndarray:
    """(m, r, 2d) gradients, each from a graph of its own, by the parameters themselves."""
    found = np.empty((len(queries), queries[0].runs, 32))
    for run in gradient_runs.disturbed(network, queries, range(len(queries))):
        query = queries[run.index]
        dropout = query.disturbance is not Disturbance.TOKENS
        with trainable(network.norms[query.layer]) as parameters:
            embedded = []
            for generator, tokens in zip(run.generators, (run.question, run.passage), strict=True):
                drawing = [[generator], [len(tokens["input_ids"])]] if dropout else [[], []]
                with network.draws.of(*drawing):
                    embedded.append(network.embed(network.padded([tokens])))
            cosine = torch.nn.functional.cosine_similarity(*embedded)
            rows = torch.autograd.grad(cosine[0], parameters)
        found[run.index, run.number] = torch.cat(rows).double().numpy()
    return found


@pytest.mark.parametrize("layer", range(tiny_encoders.LAYERS))
@pytest.mark.parametrize("disturbance", list(Disturbance))
def test_a_batch_gives_what_each_run_gives_alone(
    network: Network, disturbance: Disturbance, layer: int
) -> None:
    queries = [replace(query, disturbance=disturbance, layer=layer) for query in QUERIES]
    expected = one_by_one(network, queries)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(gradients_of_runs(network, queries), expected, atol=2e-6)


def plainly(directory: Path, question: str, passage: str) -> tuple[Any, Any, Any]:
    """The network as transformers loads it, and both embeddings with a graph."""
    model = AutoModel.from_pretrained(directory).eval()
    tokenizer = tiny_encoders.tokenizer()
    means = []
    for text in (question, passage):
        states = model(**tokenizer(text, return_tensors="pt", truncation=True)).last_hidden_state
        means.append(states.mean(dim=1)[0])
    return model, *means


def test_without_disturbance_it_is_the_gradient_of_the_encoder_itself(
    network: Network, directory: Path
) -> None:
    queries = [replace(query, **CALM) for query in QUERIES]
    for query, runs in zip(queries, gradients_of_runs(network, queries), strict=True):
        model, asked, answered = plainly(directory, QUESTION, query.passage)
        norm = model.encoder.layer[0].attention.output.LayerNorm
        cosine = torch.nn.functional.cosine_similarity(asked, answered, dim=0)
        expected = torch.cat(torch.autograd.grad(cosine, [norm.weight, norm.bias])).numpy()
        for row in runs:
            np.testing.assert_allclose(row, expected, atol=2e-6)


def test_lengths_of_gradients_of_words_are_those_of_the_encoder(
    network: Network, directory: Path
) -> None:
    for passage in PASSAGES:
        model, asked, answered = plainly(directory, QUESTION, passage)
        words = model.embeddings.word_embeddings.weight
        (rows,) = torch.autograd.grad(asked.detach() @ answered, [words])
        ids = tiny_encoders.tokenizer()(passage)["input_ids"][1:-1]
        (tokens,) = saliences_of(network, [SalienceQuery(QUESTION, passage)])
        assert len(tokens) == len(ids)
        for token, number in zip(tokens, ids, strict=True):
            if ids.count(number) == 1:  # others share the row of the table
                assert token.length == pytest.approx(rows[number].norm().item(), rel=1e-4)


def test_what_is_not_finite_costs_its_own_passage_only(network: Network) -> None:
    broken = tiny_encoders.tokenizer().convert_tokens_to_ids("zqx")
    with torch.no_grad():
        network.words.weight[broken] = float("nan")
    encoder = GradientEncoder("unused")
    encoder._network = network
    queries = [*QUERIES, replace(QUERIES[0], passage="Bo Lee is zqx.", token_dropout=0.0)]
    found = encoder.probe(queries)
    assert np.isnan(found[-1]).all()
    assert np.isfinite(found[:-1]).all()


def test_the_first_token_stays_and_another_with_it() -> None:
    tokens = {"input_ids": [2, 5, 6, 3], "attention_mask": [1, 1, 1, 1]}
    for seed in range(20):
        mask = gradient_runs.masked_out(tokens, 1.0, generator_of(str(seed)))["attention_mask"]
        assert (mask[0], sum(mask)) == (1, 2)
    kept = [
        gradient_runs.masked_out(tokens, 0.1, generator_of(str(seed)))["attention_mask"][1:]
        for seed in range(2000)
    ]
    assert np.mean(kept) == pytest.approx(0.9, abs=0.01)
    assert gradient_runs.masked_out(tokens, 0.0, generator_of(""))["attention_mask"] == [1] * 4


def test_dropout_keeps_its_share_and_the_mean() -> None:
    assert drawn(generator_of("a"), 0.1, (1000, 101)).mean() == pytest.approx(0.1, abs=0.004)
    draws, ones = Draws(), torch.ones(2, 300, 200)
    module = DrawnDropout(0.25, draws)
    assert module(ones) is ones
    with draws.of([generator_of("a"), generator_of("b")], [300, 10]):
        states = module(ones)
        attended = module(torch.ones(2, 4, 300, 300))
    assert states.unique().tolist() == pytest.approx([0.0, 4 / 3])
    assert states[0].mean().item() == pytest.approx(1.0, abs=0.02)
    assert (states[1, 10:] != 0).all()  # nothing is drawn for padding
    assert not torch.equal(attended[0, 0], attended[0, 1])


def test_no_dropout_of_torch_is_left(network: Network, directory: Path) -> None:
    model = AutoModel.from_pretrained(directory)
    expected = sum(isinstance(module, torch.nn.Dropout) for module in model.modules())
    draws = gradient_network.exchange_dropout(model)
    found = [module for module in model.modules() if isinstance(module, DrawnDropout)]
    assert len(found) == expected == 1 + 3 * tiny_encoders.LAYERS
    assert all(module._draws is draws and module.p == 0.1 for module in found)
    assert not any(type(module) is torch.nn.Dropout for module in model.modules())


def test_threads_may_ask_at_once(network: Network) -> None:
    encoder = GradientEncoder("unused")
    encoder._network = network
    alone = encoder.probe(QUERIES)
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda _: encoder.probe(QUERIES), range(8)))
    for found in together:
        np.testing.assert_allclose(found, alone, rtol=1e-4, atol=1e-7)
