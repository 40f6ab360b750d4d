"""What every model that tells how probable hidden words are promises, whatever is behind it."""

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers")


from radarstream.lab.insights import MaskedQuery
from radarstream.lab.models.causal_substitute import CausalSubstitute
from radarstream.lab.models.masked_language_model import MaskedLanguageModel
from radarstream.lab.models.scripted_networks import ScriptedMasked
from radarstream.schemas.errors import ModelError
from tests import tiny_encoders, tiny_gguf

TEXT = "The mayor of Halden is Bo Lee."
QUERIES = [
    MaskedQuery(TEXT, ((0, 3), (4, 9), (23, 29))),
    MaskedQuery("Bo said so.", ((3, 7),)),
    MaskedQuery(TEXT, ()),
    MaskedQuery("Ann Ray is the mayor. " * 12, ((0, 3), (92, 95), (256, 262))),
]


@pytest.fixture(scope="module", params=["scripted", "bert", "roberta", "distilbert", "causal"])
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    path: Path = tmp_path_factory.mktemp(request.param)
    match request.param:
        case "scripted":
            yield ScriptedMasked()
        case "causal":
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_CACHE_HOME", str(path))
                yield CausalSubstitute(tiny_gguf.build(path / "tiny.gguf"), threads=1)
        case kind:
            yield MaskedLanguageModel(tiny_encoders.build(path, kind, masked=True), device="cpu")


def close(one: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_allclose(one, other, rtol=2e-3, atol=1e-7)


def test_no_queries_give_no_answers(model: Any) -> None:
    assert model.masked([]) == []


def test_every_span_has_a_probability(model: Any) -> None:
    found = model.masked(QUERIES)
    assert [row.shape for row in found] == [(3,), (1,), (0,), (3,)]
    for row in found:
        assert row.dtype == np.float64
        assert ((row > 0.0) & (row <= 1.0)).all()
    assert len(set(found[0].round(9))) == 3


def test_order_batches_and_repetition_change_nothing(model: Any) -> None:
    together = model.masked(QUERIES)
    for one, other in zip(model.masked(QUERIES[::-1])[::-1], together, strict=True):
        close(one, other)
    for query, row in zip(QUERIES, together, strict=True):
        close(model.masked([query])[0], row)
        for span, probability in zip(query.spans, row, strict=True):  # each is hidden alone
            close(model.masked([MaskedQuery(query.text, (span,))])[0], probability)


def test_settings_survive_pickling_and_keep_the_model_id(model: Any) -> None:
    copy = pickle.loads(pickle.dumps(model))
    assert copy.model_id == model.model_id
    close(copy.masked(QUERIES[:1])[0], model.masked(QUERIES[:1])[0])


def test_an_empty_span_hides_nothing(model: Any) -> None:
    if not isinstance(model, ScriptedMasked):
        assert model.masked([MaskedQuery(TEXT, ((3, 3),))])[0].tolist() == [1.0]


def test_a_substitute_says_that_it_is_one(model: Any) -> None:
    assert ("substitute" in model.model_id) == isinstance(model, CausalSubstitute)


@pytest.mark.parametrize(
    "broken",
    [ScriptedMasked(fail_on_calls=frozenset({1})), CausalSubstitute(Path("/nonexistent.gguf"))],
    ids=["scripted", "causal"],
)
def test_a_failed_call_raises_model_error(broken: Any) -> None:
    with pytest.raises(ModelError):
        broken.masked(QUERIES)
