"""What every source of token log-probabilities promises, whatever is behind it."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("transformers")

from radarstream.connectors.models.gguf_tokens import GgufTokens
from radarstream.connectors.models.openai_http.options import OpenAiTokenOptions
from radarstream.connectors.models.openai_http.tokens import OpenAiTokens
from radarstream.connectors.models.scripted import ScriptedTokens
from radarstream.pipelines.signals.ports import TokenScorer
from radarstream.pipelines.signals.prompts import build_prompt
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import ContinuationQuery, Prompt, Task
from tests import tiny_gguf
from tests.connectors.models.scoring_server import scoring

TOWNS = ["Bern", "Oslo", "Lima", "Kyiv"]


@pytest.fixture(params=["scripted", "gguf", "echo"], scope="module")
def tokens(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[TokenScorer]:
    path: Path = tmp_path_factory.mktemp(request.param)
    match request.param:
        case "scripted":
            yield ScriptedTokens()
        case "gguf":
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("XDG_CACHE_HOME", str(path))
                yield GgufTokens(tiny_gguf.build(path / "tiny.gguf"), threads=1)
        case _:
            with scoring() as server:
                options = OpenAiTokenOptions(
                    base_url=server.url, model="small", api_key_variable=""
                )
                remote = OpenAiTokens(options)
                yield remote
                remote.close()


def prompts(towns: list[str] = TOWNS) -> tuple[Prompt, ...]:
    return tuple(
        build_prompt(Task.ATOMIC_ANSWER, "Where does Aldo live?", [f"In {t}." + " Yes." * i])
        for i, t in enumerate(towns)
    )


def logs(tokens: TokenScorer, said: str, asked: tuple[Prompt, ...] | None = None) -> np.ndarray:
    return tokens.log_probs([ContinuationQuery(asked or prompts(), said)])[0]


def test_a_row_per_prompt_of_logarithms_that_add_up(tokens: TokenScorer) -> None:
    found = logs(tokens, "Bern is")
    assert found.shape[0] == len(TOWNS)
    assert found.shape[1] >= 1
    assert found.dtype == np.float64
    assert (found <= 1e-6).all()
    assert tokens.log_probs([]) == []
    # What is said first has the same probability, whatever is said after it.
    short, long = logs(tokens, "Oslo is"), logs(tokens, "Oslo is cold")
    assert long.shape[1] > short.shape[1]
    np.testing.assert_allclose(long[:, : short.shape[1]], short, atol=2e-4)


def test_order_batches_and_pickling_change_nothing(tokens: TokenScorer) -> None:
    together = logs(tokens, "Oslo")
    np.testing.assert_allclose(logs(tokens, "Oslo", prompts()[::-1])[::-1], together, atol=2e-4)
    for prompt, row in zip(prompts(), together, strict=True):
        np.testing.assert_allclose(logs(tokens, "Oslo", (prompt,))[0], row, atol=2e-4)
    queries = [ContinuationQuery(prompts()[:1], said) for said in ("Oslo", "Bern is", "Oslo")]
    first, other, again = tokens.log_probs(queries)
    np.testing.assert_allclose(first, again, atol=2e-4)
    assert abs(first.sum() - other.sum()) > 1e-6
    copy = pickle.loads(pickle.dumps(tokens))
    assert copy.model_id == tokens.model_id
    np.testing.assert_allclose(logs(copy, "Lima"), logs(tokens, "Lima"), atol=2e-4)
    if isinstance(copy, OpenAiTokens):
        copy.close()


@pytest.mark.parametrize("said", ["", " "])
def test_an_empty_reply_is_an_error(tokens: TokenScorer, said: str) -> None:
    if said and isinstance(tokens, ScriptedTokens):
        pytest.skip("says any byte")
    with pytest.raises(ModelError):
        logs(tokens, said)
