"""Log-probabilities that are remembered."""

import numpy as np
import pytest
from sqlalchemy import Engine

from radarstream.connectors.models.response_cache import Cached, ResponseCache
from radarstream.connectors.models.scripted import ScriptedGenerator, ScriptedTokens
from radarstream.schemas.errors import ModelError
from radarstream.schemas.prompt import ContinuationQuery, Prompt, Task
from tests.scripted_models import last_words


def make_prompt(text: str) -> Prompt:
    return Prompt(Task.ATOMIC_ANSWER, "Answer.", (), "Who?", (text,), 16)


RED, BLUE, ROSE = (make_prompt(f"The colour: {word}") for word in ("red", "blue", "rose"))


def model(**options: object) -> ScriptedTokens:
    return ScriptedTokens(ScriptedGenerator(script=last_words), **options)  # type: ignore[arg-type]


@pytest.fixture
def cache(engine: Engine) -> ResponseCache:
    return ResponseCache(engine)


def test_rows_are_what_the_model_gives_and_are_asked_once(cache: ResponseCache) -> None:
    inner, queries = model(), [
        ContinuationQuery((RED, BLUE), "red"),
        ContinuationQuery((), "red"),
        ContinuationQuery((BLUE, RED, BLUE), "rose"),
    ]  # fmt: skip
    tokens = Cached(inner, cache)
    first = tokens.log_probs(queries)
    plain = model().log_probs(queries)
    for found, expected in zip(first, plain, strict=True):
        assert len(found) == len(expected)
        if len(found):
            np.testing.assert_array_equal(found, expected)
    assert [query.prompts for batch in inner.log for query in batch] == [q.prompts for q in queries]
    again = Cached(inner, cache).log_probs(queries)
    for one, other in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, other)
    assert (tokens.hits, tokens.calls) == (0, 3)


def test_impossible_tokens_are_kept_and_what_is_no_number_is_not(cache: ResponseCache) -> None:
    class Odd(ScriptedTokens):
        def log_probs(self, queries):
            rows = super().log_probs(queries)
            rows[0][0, 0] = value
            return rows

    query = [ContinuationQuery((RED,), "red")]
    value = np.nan
    with pytest.raises(ModelError, match="no number"):
        Cached(Odd(), cache).log_probs(query)
    value = -np.inf
    Cached(Odd(), cache).log_probs(query)
    inner = model()
    assert Cached(inner, cache).log_probs(query)[0][0, 0] == -np.inf
    assert inner.log == []
