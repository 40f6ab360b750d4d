"""What every source of gradients of similarities promises, whatever is behind it."""

import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sentence_transformers")

import torch

from radarstream.lab.insights import Disturbance, ProbeQuery, SalienceQuery
from radarstream.lab.models.gradient_encoder import GradientEncoder as Torch
from radarstream.lab.models.scripted_networks import ScriptedGradients
from radarstream.schemas.errors import ConfigurationError, ModelError
from tests import tiny_encoders

QUESTION = "Who is the mayor of Halden?"
PASSAGES = (
    "Bo Lee is the mayor.",
    "The council said on Monday that Ann Ray is the mayor of Halden.",
    "Monday.",
    "Who is the mayor of Halden? Ray. Ray. Ray. Ray. Ray. Ray. Ray. Ray. Ray. Ray. Ray. Ray.",
)
QUERIES = [ProbeQuery(QUESTION, passage, runs=4, layer=1) for passage in PASSAGES]
SALIENCES = [SalienceQuery(QUESTION, passage) for passage in PASSAGES]


@pytest.fixture(
    scope="module",
    params=[
        "scripted",
        *("bert", "roberta", "mpnet", "distilbert"),
        pytest.param("minilm", marks=pytest.mark.models),
    ],
)
def encoder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    match request.param:
        case "scripted":
            return ScriptedGradients()
        case "minilm":
            return Torch(device="cpu")
    return Torch(tiny_encoders.build(tmp_path_factory.mktemp("m"), request.param), device="cpu")


def close(one: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-5 * max(1.0, np.abs(other).max()))


def test_no_queries_give_no_answers(encoder: Any) -> None:
    assert encoder.probe([]).shape == (0, 2, 2)
    assert encoder.saliences([]) == []


def test_answers_are_matrices_of_inner_products(encoder: Any) -> None:
    found = encoder.probe(QUERIES)
    assert found.shape == (len(QUERIES), 4, 4)
    assert found.dtype == np.float64
    for gram in found:
        np.testing.assert_array_equal(gram, gram.T)
        assert np.linalg.eigvalsh(gram).min() >= -1e-9 * np.trace(gram)
        assert np.trace(gram) > 0.0


def test_order_batches_and_repetition_change_nothing(encoder: Any) -> None:
    together = encoder.probe(QUERIES)
    close(encoder.probe(QUERIES[::-1])[::-1], together)
    for query, gram in zip(QUERIES, together, strict=True):
        close(encoder.probe([query])[0], gram)
    close(encoder.probe([QUERIES[1], *QUERIES, QUERIES[1]])[[0, -1]], together[[1, 1]])


def test_seed_passage_and_question_decide_what_is_drawn(encoder: Any) -> None:
    first = QUERIES[1]
    others = [
        replace(first, seed=1),
        replace(first, passage=PASSAGES[0]),
        replace(first, question="Who is Bo?"),
    ]
    same, *found = encoder.probe([first, *others])
    assert all(np.abs(gram - same).max() > 1e-6 * np.abs(same).max() for gram in found)


def test_fewer_runs_are_the_first_of_more(encoder: Any) -> None:
    few, many = (encoder.probe([replace(QUERIES[1], runs=runs)])[0] for runs in (2, 5))
    if not isinstance(encoder, ScriptedGradients):
        close(few, many[:2, :2])


def test_tokens_are_told_with_their_characters(encoder: Any) -> None:
    together = encoder.saliences(SALIENCES)
    for query, tokens in zip(SALIENCES, together, strict=True):
        assert {"mayor", "monday"} & {query.passage[t.start : t.stop].lower() for t in tokens}
        assert all(0 <= t.start < t.stop <= len(query.passage) for t in tokens)
        assert all(np.isfinite(t.length) and t.length >= 0.0 for t in tokens)
        assert len({t.length for t in tokens}) > 1 or len(tokens) == 1
        (alone,) = encoder.saliences([query])
        assert [(t.start, t.stop) for t in alone] == [(t.start, t.stop) for t in tokens]
        close(np.array([t.length for t in alone]), np.array([t.length for t in tokens]))


def test_settings_survive_pickling_and_keep_the_model_id(encoder: Any) -> None:
    copy = pickle.loads(pickle.dumps(encoder))
    assert copy.model_id == encoder.model_id
    close(copy.probe(QUERIES[:1]), encoder.probe(QUERIES[:1]))


@pytest.mark.parametrize("disturbance", list(Disturbance))
def test_nothing_is_left_behind(encoder: Any, disturbance: Disturbance) -> None:
    """Neither in torch's random numbers nor in the network."""
    before = torch.random.get_rng_state()
    encoder.probe([replace(QUERIES[0], disturbance=disturbance)])
    encoder.saliences(SALIENCES[:1])
    assert torch.equal(torch.random.get_rng_state(), before)
    if isinstance(encoder, Torch):
        network = encoder._network
        parts = [network.words, *network.norms]
        assert not any(part._forward_hooks or part.training for part in parts)
        parameters = [p for part in parts for p in part.parameters()]
        assert not any(p.requires_grad or p.grad is not None for p in parameters)
        assert network.draws.generators == ()


def test_a_layer_that_is_not_there_is_a_model_error(encoder: Any) -> None:
    if isinstance(encoder, Torch):
        with pytest.raises(ModelError, match="layers are 0 to"):
            encoder.probe([replace(QUERIES[0], layer=99)])


def test_a_failed_call_raises_model_error() -> None:
    with pytest.raises(ModelError):
        ScriptedGradients(fail_on_calls=frozenset({1})).probe(QUERIES)
    with pytest.raises(ConfigurationError):
        Torch("/nonexistent").probe(QUERIES)


def test_an_architecture_without_known_layers_is_refused(tmp_path: Path) -> None:
    encoder = Torch(tiny_encoders.build(tmp_path, "gpt2"), device="cpu")
    with pytest.raises(ConfigurationError, match="no LayerNorm where BERT"):
        encoder.probe(QUERIES)
